//! Traces read what belongs to them and no more, wherever the index is.

use crate::world::{in_folder, in_memory, publish};
use bytes::Bytes;
use exchange::{PlaceId, Record};
use interwire_broker::{
    By, Handle, PlaceName, RecipientState, Settings, Settle, Trace, TraceQuery,
};
use journal::{Durability, Journal, MemoryDisk, Options};
use protocol::dialect::aee::Aee;
use protocol::{Code, Party, Rules, Timestamp};
use std::sync::Arc;
use std::time::Duration;

fn query(text: &str) -> TraceQuery {
    TraceQuery {
        text: text.into(),
        by: None,
        sender: None,
        after: 0,
        limit: 100_000,
    }
}

fn task(id: &str, from: &str, to: &str, corr: &str, cause: Option<&str>) -> String {
    let task = Aee::task(from, to, "quox.security.scan").corr(corr);
    let task = match cause {
        Some(cause) => task.reply_to(cause),
        None => task,
    };
    task.build(id, Timestamp::from_millis(1_772_274_600_000))
}

fn json(handle: &Handle, trace: &Trace) -> String {
    let mut out = String::new();
    let cursor = |sequence| handle.cursor_at(sequence).to_string();
    trace.write_json(&mut out, &cursor).unwrap();
    out
}

async fn indexed(handle: &Handle) {
    let all = async {
        while handle.index_lag() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), all)
        .await
        .expect("the index follows");
}

async fn settle_one(handle: &Handle, party: &str, how: Settle) {
    let place = PlaceName::Inbox(Party::parse(party));
    let worker = Some("worker-1".into());
    let deliveries = handle.pull(place, worker, 1, Duration::ZERO).await.unwrap();
    let results = handle.settle(vec![deliveries[0].id], how).await.unwrap();
    assert!(results.iter().all(Result::is_ok));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_is_the_same_before_and_after_the_index_has_seen_it() {
    let folder = tempfile::tempdir().unwrap();
    let broker = in_folder(folder.path());
    let handle = broker.handle();
    let conversation = [
        task("message-1", "human.adam", "agent.b", "CONV_1", None),
        task(
            "message-2",
            "agent.b",
            "agent.c",
            "CONV_1",
            Some("message-1"),
        ),
        task(
            "message-3",
            "agent.b",
            "agent.c",
            "CONV_2",
            Some("message-1"),
        ),
        task(
            "message-4",
            "agent.c",
            "agent.d",
            "CONV_3",
            Some("message-3"),
        ),
        task("message-5", "agent.x", "agent.y", "CONV_4", None),
    ];
    for (count, envelope) in conversation.iter().enumerate() {
        publish(&handle, envelope).await.unwrap();
        if count == 1 {
            indexed(&handle).await;
        }
    }
    settle_one(&handle, "agent.b", Settle::Ack).await;
    let reason = Settle::Reject {
        reason: "no".into(),
    };
    settle_one(&handle, "agent.c", reason).await;
    let fresh = handle.trace(query("message-2")).await.unwrap();
    assert_eq!(fresh.len(), 4);
    let fresh = json(&handle, &fresh);
    assert!(fresh.contains("\"state\":\"acked\""), "{fresh}");
    assert!(fresh.contains("\"consumer\":\"worker-1\""), "{fresh}");
    assert!(fresh.contains("\"state\":\"dead\""), "{fresh}");
    assert!(fresh.contains("\"error\":\"no\""), "{fresh}");
    // What their senders were warned of, and nothing that this reading would say of them.
    assert!(!fresh.contains("log_tier"), "{fresh}");
    let warned = "\"warnings\":[\"id_form\",\"too_short\"]";
    assert!(fresh.contains(warned), "{fresh}");
    indexed(&handle).await;
    let later = handle.trace(query("message-2")).await.unwrap();
    assert_eq!(json(&handle, &later), fresh);
    broker.close().await;
    // The whole index again, from nothing.
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("index")
        {
            std::fs::remove_file(path).unwrap();
        }
    }
    let broker = in_folder(folder.path());
    let handle = broker.handle();
    let rebuilding = handle.trace(query("message-2")).await.unwrap();
    assert_eq!(json(&handle, &rebuilding), fresh);
    indexed(&handle).await;
    let rebuilt = handle.trace(query("message-2")).await.unwrap();
    assert_eq!(json(&handle, &rebuilt), fresh);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_holds_a_delivery_is_told() {
    let broker = in_memory();
    let handle = broker.handle();
    publish(
        &handle,
        &task("message-1", "human.adam", "agent.b", "CONV_1", None),
    )
    .await
    .unwrap();
    let place = PlaceName::Inbox(Party::parse("agent.b"));
    let worker = Some("worker-7".into());
    let held = handle.pull(place, worker, 1, Duration::ZERO).await.unwrap();
    assert_eq!(held.len(), 1);
    let trace = handle.trace(query("CONV_1")).await.unwrap();
    let mut text = String::new();
    trace.write_text(&mut text, Default::default()).unwrap();
    assert!(text.contains("delivered to worker-7"), "{text}");
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_nothing_or_of_several_things_is_refused_with_what_it_may_mean() {
    let broker = in_memory();
    let handle = broker.handle();
    for (from, corr) in [("agent.a", "CONV_1"), ("agent.x", "CONV_2")] {
        publish(&handle, &task("message-1", from, "agent.b", corr, None))
            .await
            .unwrap();
    }
    let refused = handle.trace(query("message-1")).await.unwrap_err();
    assert_eq!(refused.code(), Code::AmbiguousId);
    let detail = &refused.first().detail;
    for part in [
        "a message in conversation \"CONV_1\" by agent:a",
        "by agent:x",
    ] {
        assert!(detail.contains(part), "{detail}");
    }
    let one = TraceQuery {
        sender: Some(Party::parse("agent.x")),
        by: Some(By::Message),
        ..query("message-1")
    };
    assert_eq!(handle.trace(one).await.unwrap().len(), 1);
    let nothing = handle.trace(query("CONV_9")).await.unwrap_err();
    assert_eq!(nothing.code(), Code::NotFound);
    broker.close().await;
}

/// A journal of `count` messages of one conversation, each between two of others, and an
/// acknowledgement for every second.
fn long_journal(count: u64) -> Arc<MemoryDisk> {
    let disk = Arc::new(MemoryDisk::default());
    let options = Options {
        durability: Durability::Memory,
        ..Options::new(7)
    };
    let mut journal = Journal::open(disk.clone(), options).unwrap();
    let at = Timestamp::from_millis(1_772_274_600_000);
    let append = |journal: &mut Journal, record: &Record| {
        let mut head = Vec::new();
        record.encode_head(&mut head);
        let envelope = match record {
            Record::Published { envelope, .. } => envelope.clone(),
            _ => Bytes::new(),
        };
        journal.append(record.kind(), &[&head, &envelope])
    };
    let header = |corr: &str| {
        // Events: a hundred thousand tasks are another story.
        let event = Aee::event("agent.a", "agent.b", "quox.security.scan").corr(corr);
        let envelope = event.build("message-0", at);
        let reading = protocol::decode(envelope.as_bytes(), &Rules::at(at));
        (reading.header.unwrap(), Bytes::from(envelope))
    };
    let [ours, others] = ["CONV_LONG", "CONV_OTHER"].map(header);
    for n in 0..count {
        let name = |what: &str, n: u64| Box::from(format!("{what}-{n}"));
        for (what, (header, envelope)) in
            [("other", &others), ("message", &ours), ("more", &others)]
        {
            let mut header = header.clone();
            header.id = name(what, n);
            header.cause = (n > 0).then(|| name(what, n - 1));
            let record = Record::Published {
                at: at.plus_millis(i64::try_from(n).unwrap()),
                header: Arc::new(header),
                recipients: vec![(Party::parse("agent.b"), RecipientState::Stored)],
                places: vec![PlaceId(0)],
                moves_flow: false,
                envelope: envelope.clone(),
            };
            append(&mut journal, &record);
        }
        if n % 2 == 1 {
            let acked = Record::Acked {
                place: PlaceId(0),
                at,
                consumer: None,
                by: None,
                sequences: vec![journal.next_sequence() - 2],
                attempts: Vec::new(),
            };
            append(&mut journal, &acked);
        }
        if n % 1_000 == 0 {
            journal.commit().unwrap();
        }
    }
    journal.close().unwrap();
    disk
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_of_100_000_is_traced_without_reading_the_others() {
    const COUNT: u64 = 100_000;
    let settings = Settings {
        durability: Durability::Memory,
        ..Settings::default()
    };
    let disk = tokio::task::spawn_blocking(|| long_journal(COUNT))
        .await
        .unwrap();
    let broker = interwire_broker::Broker::open_on(disk, None, settings, 7).unwrap();
    let handle = broker.handle();
    indexed(&handle).await;
    let read = || handle.meter().recalled.get();
    let before = read();
    let trace = handle.trace(query("message-77")).await.unwrap();
    assert_eq!(trace.len() as u64, COUNT);
    assert_eq!(trace.gaps(), 0);
    // Every message once, every second acknowledged; the first page is looked at to learn what the
    // name means, and there is nothing else to read of 350,000 records.
    let spent = read() - before;
    assert!(spent <= COUNT + COUNT / 2 + 2_000, "{spent} records read");
    let before = read();
    let page = TraceQuery {
        limit: 100,
        ..query("CONV_LONG")
    };
    let trace = handle.trace(page).await.unwrap();
    assert_eq!(trace.len(), 100);
    let spent = read() - before;
    assert!(spent <= 1_500, "{spent} records read for a page of 100");
    broker.close().await;
}
