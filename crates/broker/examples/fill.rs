//! Makes a journal of many messages fast, for measuring starts: `fill FOLDER MESSAGES [OWED]`.
//!
//! Messages go to a thousand inboxes and are acknowledged, all but the last OWED (100,000). Nothing
//! is checkpointed and no keys are stored there: the folder is as an exchange without either would leave
//! it. Says what one publish costs in the exchange alone, without reading, journal or network, but with
//! keys in files of a memory disk. Of a busy machine take the fastest.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a tool for measurements"
)]

use bytes::Bytes;
use exchange::{Exchange, First, Lease, PlaceName, Record, Settings, Settle};
use journal::{Durability, Journal, KeyEntry, Keys, MemoryDisk, Options, RealDisk};
use protocol::{Party, Rules, Timestamp};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const INBOXES: u64 = 1_000;
const BATCH: u64 = 10_000;
const RECENT_MAX: usize = 500_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, messages, rest @ ..] = arguments.as_slice() else {
        println!("usage: fill FOLDER MESSAGES [OWED]");
        return;
    };
    let messages: u64 = messages.parse().expect("a number of messages");
    let owed: u64 = rest
        .first()
        .map_or(100_000, |text| text.parse().expect("a number"));
    std::fs::create_dir_all(folder).expect("a folder");
    let disk = RealDisk::open(Path::new(folder)).expect("a folder");
    let options = Options {
        durability: Durability::Os,
        ..Options::new(0x5eed)
    };
    let mut journal = Journal::open(Arc::new(disk), options).expect("an empty folder");
    let mut exchange = Exchange::new(Settings::default());
    let disk = Arc::new(MemoryDisk::default());
    let keys = Keys::open(disk, 0x5eed, (1, 0), RECENT_MAX as u64, 64 << 20).expect("memory");
    let asked = keys.reader();
    exchange.look_for_older_keys_with(Box::new(move |key| {
        let found = asked.find(&key.0, 0).expect("memory");
        Ok(found.map(|entry| First {
            sequence: entry.sequence,
            fingerprint: entry.value,
        }))
    }));
    let start = Instant::now();
    let mut costs = Vec::new();
    let mut now = Timestamp::from_millis(1_796_000_000_000);
    let mut sent = 0;
    while sent < messages {
        now = now.plus_millis(100);
        let until = (sent + BATCH).min(messages);
        let ready: Vec<_> = (sent..until).map(|number| message(number, now)).collect();
        let begun = cpu_ns();
        let next = journal.next_sequence();
        let published: Vec<_> = ready
            .into_iter()
            .zip(next..)
            .map(|((header, envelope), sequence)| {
                let published = exchange.publish(now, sequence, header, envelope);
                published
                    .expect("a new message")
                    .record
                    .expect("a new message")
            })
            .collect();
        costs.push((cpu_ns() - begun) / (until - sent));
        for record in &published {
            append(&mut journal, record);
        }
        sent = until;
        if sent + owed <= messages {
            acknowledge(&mut exchange, &mut journal, now);
        }
        journal.commit().expect("a disk with room");
        if exchange.recent_keys() >= RECENT_MAX {
            let last = journal.next_sequence() - 1;
            let frozen = exchange.freeze_keys(last);
            let entries = frozen.iter().map(|(key, first)| KeyEntry {
                key: key.0,
                sequence: first.sequence,
                value: first.fingerprint,
            });
            let (first, entries) = (frozen.after + 1, entries.collect());
            keys.add(first, last, entries).expect("memory");
            while keys.tidy(1, &mut || {}).expect("memory") {}
            exchange.forget_keys(last);
        }
    }
    journal.close().expect("a disk with room");
    println!(
        "{messages} messages in {:.1} s; keys in files: {:?} (files, keys, bytes of filters)",
        start.elapsed().as_secs_f64(),
        keys.reader().sizes(),
    );
    let say = |when: &str, costs: &[u64]| {
        let mut costs = costs.to_vec();
        costs.sort_unstable();
        let at = |part: usize| costs.get(costs.len() * part / 10).copied().unwrap_or(0);
        println!(
            "a publish in the exchange, {when}: {} ns, fastest {} ns",
            at(5),
            at(0)
        );
    };
    let (early, late) = costs.split_at(costs.len().min(40));
    say("while all keys were in memory", early);
    say(
        "after that",
        late.get(late.len().saturating_sub(200)..).unwrap_or(late),
    );
}

/// Nanoseconds that this thread had a processor: other programs do not count.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn message(number: u64, now: Timestamp) -> (Arc<protocol::Header>, Bytes) {
    let text = format!(
        r#"{{"spec_version":"0.2","id":"evt_{number:012}","type":"environment.observed","source":"agent:filler","target":"agent:inbox{}","created_at":"2026-11-30T16:00:00Z","conversation_id":"conv_{:06}","payload":{{"number":{number},"text":"a message of a usual size, with enough words in it to be about as long as what agents say to each other when they report what they have seen"}}}}"#,
        number % INBOXES,
        number / 50,
    );
    let envelope = Bytes::from(text);
    let reading = protocol::decode(&envelope, &Rules::at(now));
    let (header, _) = reading.into_result().expect("a valid event");
    (Arc::new(header), envelope)
}

fn append(journal: &mut Journal, record: &Record) {
    let mut head = Vec::with_capacity(512);
    record.encode_head(&mut head);
    let envelope: &[u8] = match record {
        Record::Published { envelope, .. } => envelope,
        _ => &[],
    };
    journal.append(record.kind(), &[&head, envelope]);
}

fn acknowledge(exchange: &mut Exchange, journal: &mut Journal, now: Timestamp) {
    for inbox in 0..INBOXES {
        let name = PlaceName::Inbox(Party::parse(&format!("agent:inbox{inbox}")));
        let Some(place) = exchange.place(&name) else {
            continue;
        };
        let (leases, _) = exchange.pull(now, place, &None, usize::MAX, usize::MAX);
        let ids: Vec<_> = leases.iter().map(Lease::id).collect();
        let next = journal.next_sequence();
        let (_, outcome) = exchange.settle(now, next, &ids, &Settle::Ack);
        for record in &outcome.records {
            append(journal, record);
        }
    }
}
