//! One connection's storm makes that connection wait, and nobody else.

use crate::world::{event, publish};
use bytes::Bytes;
use interwire_broker::{Broker, From, Handle, Published, Settings, Submission};
use protocol::{Code, Filter};
use std::sync::Arc;
use testkit::HeldDisk;
use tokio::sync::mpsc;

type Results = mpsc::UnboundedReceiver<(u64, Published)>;

fn held(settings: Settings) -> (Broker, HeldDisk) {
    let disk = HeldDisk::default();
    let broker = Broker::open_on(Arc::new(disk.clone()), None, settings, 7).unwrap();
    (broker, disk)
}

/// Queues `count` publishes of one connection together; their results come later.
async fn storm(handle: &Handle, name: &str, count: u64) -> Results {
    let (results, receiver) = mpsc::unbounded_channel();
    let envelopes = (0..count).map(|number| {
        let text = event(&format!("{name}-{number:05}"), "agent.b", "{}");
        let (header, warnings) = protocol::decode(text.as_bytes(), &handle.rules())
            .into_result()
            .unwrap();
        Submission {
            number,
            header,
            envelope: Bytes::from(text),
            warnings,
        }
    });
    handle.submit(envelopes.collect(), &results).await;
    receiver
}

/// The places that were given out, in the order of the numbers.
async fn places(mut results: Results) -> Vec<u64> {
    let mut places = Vec::new();
    while let Some((number, result)) = results.recv().await {
        assert_eq!(number, places.len() as u64, "results come in order");
        places.push(result.unwrap().cursor.sequence);
    }
    places
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_publish_passes_the_storms_of_eight_connections() {
    let (broker, disk) = held(Settings {
        batch_max: 64,
        ..Settings::default()
    });
    let handle = broker.handle();
    publish(&handle, &event("message-0", "agent.b", "{}"))
        .await
        .unwrap();
    // The loop waits in a commit while all of this comes.
    disk.hold();
    let first = storm(&handle.connection(), "first", 1).await;
    let mut storms = Vec::new();
    for n in 0..8 {
        let connection = handle.connection();
        storms.push(storm(&connection, &format!("storm-{n}"), 500).await);
    }
    let single = storm(&handle.connection(), "single", 1).await;
    disk.release();
    let single = places(single).await[0];
    // At most what was in the commit that waited, and a turn of everybody else.
    assert!(single <= 2 + 64 + 8 * 16 + 1, "it came at {single}");
    let mut last = Vec::new();
    for storm in storms {
        let places = places(storm).await;
        assert_eq!(places.len(), 500);
        assert!(places.is_sorted(), "each in its own order");
        last.push(*places.last().unwrap());
    }
    last.sort_unstable();
    assert!(last[7] - last[0] <= 8 * 16, "they ended together: {last:?}");
    drop(first);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_fills_its_own_share_of_the_queue_and_is_told() {
    let (broker, disk) = held(Settings {
        connection_queue_max: 20,
        queue_wait_ms: 0,
        ..Settings::default()
    });
    let handle = broker.handle();
    publish(&handle, &event("message-0", "agent.b", "{}"))
        .await
        .unwrap();
    disk.hold();
    let first = storm(&handle.connection(), "first", 1).await;
    let greedy = handle.connection();
    let mut greedy = storm(&greedy, "greedy", 100).await;
    let other = storm(&handle.connection(), "other", 20).await;
    disk.release();
    assert_eq!(places(other).await.len(), 20, "another has its own share");
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    while let Some((number, result)) = greedy.recv().await {
        match result {
            Ok(_) => accepted.push(number),
            Err(rejection) => {
                assert_eq!(rejection.code(), Code::Overloaded);
                assert!(rejection.retry_after_ms().is_some());
                refused.push(number);
            }
        }
    }
    // Every one was answered, and nothing overtook what was refused.
    assert_eq!(accepted.len() + refused.len(), 100);
    assert!(accepted.len() >= 20 && !refused.is_empty());
    assert!(accepted.last() < refused.first());
    drop(first);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_searches_of_one_connection_leave_the_file_to_others() {
    let settings = Settings {
        ring_bytes_max: 0,
        ..Settings::default()
    };
    let broker = Broker::open(settings, 7).unwrap();
    let handle = broker.handle();
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(60_000));
    // Enough that a hundred searches take far longer than to begin one more.
    for number in 0..800 {
        let text = event(&format!("message-{number:04}"), "agent.b", &payload);
        publish(&handle, &text).await.unwrap();
    }
    // A hundred readers look for what is not there; each looks at everything.
    let storm = handle.connection();
    let mut searches = tokio::task::JoinSet::new();
    for number in 0..100 {
        let filter = Filter::from_pairs([("conversation", format!("none-{number}").as_str())]);
        let mut tail = storm.tail(filter.unwrap(), &From::Earliest).await.unwrap();
        searches.spawn(async move {
            assert!(tail.next(64).await.unwrap().caught_up);
        });
    }
    let other = handle.connection();
    let mut tail = other
        .tail(Filter::default(), &From::Earliest)
        .await
        .unwrap();
    let batch = tail.next(64).await.unwrap();
    assert_eq!(&*batch.entries[0].header.id, "message-0000");
    let mut ended = 0;
    while let Some(search) = searches.try_join_next() {
        search.unwrap();
        ended += 1;
    }
    assert!(ended < 100, "it waited for all of them");
    while let Some(search) = searches.join_next().await {
        search.unwrap();
    }
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_are_bounded_and_leave_room_when_they_go() {
    let settings = Settings {
        readers_max: 2,
        ..Settings::default()
    };
    let broker = Broker::open(settings, 7).unwrap();
    let handle = broker.handle();
    let follow = async || handle.tail(Filter::default(), &From::Latest).await;
    let (one, two) = (follow().await.unwrap(), follow().await.unwrap());
    assert_eq!(follow().await.unwrap_err().code(), Code::Overloaded);
    drop(one);
    let three = follow().await.unwrap();
    drop((two, three));
    broker.close().await;
}
