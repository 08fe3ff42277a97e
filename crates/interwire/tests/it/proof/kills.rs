//! SIGKILL at any moment, round after round on one folder, with everything going on at once: sixteen
//! publishers, senders that repeat what they sent before the last kill, groups of consumers, durable
//! subscriptions, inboxes, live readers, tasks and messages with deadlines. Nothing that was promised
//! is lost, nothing goes to the wrong reader, repeats say so, and every task ends once.
//!
//! `INTERWIRE_CRASH_ROUNDS` shortens or lengthens it: `./test --kill-rounds N`.

use super::witness::{Record, Witness};
use super::work::{
    Fuse, Letter, Position, TERMS, consume, finish, follow_socket, follow_stream, places, prepare,
    publish_over_http, publish_over_socket, repeat,
};
use crate::process::Exchange;
use std::collections::HashSet;
use std::time::{Duration, Instant};
use testkit::Random;
use testkit::history::{Answer, Call, Delivered, EXCHANGE, How, Wants, inbox, subscription};

const PUBLISHERS: usize = 16;
/// Letters of one publisher in one round, at most.
const LETTERS: usize = 60;
/// Letters of the round before that are sent again.
const REPEATS: usize = 40;
/// When the publishers are done and the consumers find nothing more, there may never be enough answers.
const ROUND_MAX: Duration = Duration::from_secs(3);

fn rounds() -> usize {
    let rounds = std::env::var("INTERWIRE_CRASH_ROUNDS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(6)
}

#[test]
fn nothing_is_lost_or_goes_astray_whenever_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let seed = client::chance::bits();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let record = Record::default();
    let exchange = Exchange::on(folder.path());
    runtime.block_on(prepare(&Witness::new(&exchange.url, &record), TERMS));
    exchange.kill();
    record.died();
    let mut positions = vec![
        Position::start(Wants::Everything),
        Position::start(Wants::Topic("ops.state".into())),
    ];
    let mut sent = Vec::new();
    let mut seen = Numbers::of(&record);
    for round in 0..rounds() {
        let exchange = Exchange::on(folder.path());
        let began = Instant::now();
        // Often after the publishers have ended, and the consumers have not.
        let length = 1 + random.index(2 * PUBLISHERS * LETTERS);
        let again = some(sent, &mut random);
        let work = one_round(
            exchange,
            &record,
            round,
            length,
            &mut random,
            positions,
            again,
        );
        (positions, sent) = runtime.block_on(work);
        let all = Numbers::of(&record);
        let (took, told) = (began.elapsed().as_millis(), all.since(&seen));
        println!("round {round:>3}: killed at answer {length:>4}, {took:>5} ms: {told}");
        seen = all;
    }
    let exchange = Exchange::on(folder.path());
    let witness = Witness::new(&exchange.url, &record);
    let journal = runtime.block_on(finish(&witness, &places(PUBLISHERS)));
    let by_exchange = journal.iter().filter(|one| one.sender == EXCHANGE);
    let timed_out = by_exchange.filter(|one| one.ends.is_some()).count();
    let expired = runtime.block_on(expired(&witness));
    println!("{} rounds, and in all {}", rounds(), Numbers::of(&record));
    println!("{expired} messages expired, {timed_out} tasks ran out of time");
    record.check("kills");
}

/// Some of what was sent, in any order. What is of use for a while only would be another message.
fn some(mut letters: Vec<Letter>, random: &mut Random) -> Vec<Letter> {
    letters.retain(|(message, _)| message.deadline.is_none());
    let mut some = Vec::new();
    while some.len() < REPEATS && !letters.is_empty() {
        some.push(letters.swap_remove(random.index(letters.len())));
    }
    some
}

/// How many messages that were of use for a while came to nobody in time. None still waits.
async fn expired(witness: &Witness) -> usize {
    let mut count = 0;
    for message in witness.record.messages() {
        if message.deadline.is_none() || message.task.is_some() {
            continue;
        }
        // Without a receipt it may never have come.
        let Ok(receipt) = witness.client.receipt(&message.key, None).await else {
            continue;
        };
        for recipient in &receipt.recipients {
            let state = recipient.state.as_str();
            assert!(!["waiting", "leased"].contains(&state), "{recipient:?}");
            count += usize::from(state == "expired");
        }
    }
    count
}

async fn one_round(
    exchange: Exchange,
    record: &Record,
    round: usize,
    length: usize,
    random: &mut Random,
    positions: Vec<Position>,
    again: Vec<Letter>,
) -> (Vec<Position>, Vec<Letter>) {
    let fuse = Fuse::of(length);
    let witness = || Witness::new(&exchange.url, record);
    let mut publishers = Vec::new();
    let mut tasks = vec![tokio::spawn(repeat(witness(), again))];
    for sender in 0..PUBLISHERS {
        let (fuse, run) = (fuse.clone(), round.to_string());
        publishers.push(if sender % 2 == 0 {
            tokio::spawn(publish_over_http(witness(), fuse, run, sender, LETTERS))
        } else {
            tokio::spawn(publish_over_socket(witness(), fuse, run, sender, LETTERS))
        });
    }
    let groups = [
        (inbox("agent:b"), 3),
        (inbox("agent:c"), 2),
        (subscription("everything"), 2),
        (subscription("channel"), 1),
        (inbox("agent:sender0"), 1),
        (inbox("agent:sender1"), 1),
    ];
    for (from, consumers) in groups {
        for number in 0..consumers {
            let (fuse, from) = (fuse.clone(), from.clone());
            let (name, seed) = (format!("worker-{number}"), random.number());
            tasks.push(tokio::spawn(consume(witness(), fuse, from, name, seed)));
        }
    }
    let mut readers = Vec::new();
    for (number, position) in positions.into_iter().enumerate() {
        readers.push(if number % 2 == 0 {
            tokio::spawn(follow_stream(witness(), position))
        } else {
            tokio::spawn(follow_socket(witness(), position))
        });
    }
    drop(tokio::time::timeout(ROUND_MAX, fuse.is_burnt()).await);
    exchange.kill();
    for task in tasks {
        task.await.unwrap();
    }
    let mut sent = Vec::new();
    for publisher in publishers {
        sent.extend(publisher.await.unwrap());
    }
    let mut positions = Vec::new();
    for reader in readers {
        positions.push(reader.await.unwrap());
    }
    record.died();
    (positions, sent)
}

/// What has been seen so far.
struct Numbers([(&'static str, usize); 8]);

impl Numbers {
    fn of(record: &Record) -> Self {
        let receipts = |is_repeat: bool| {
            record.sum_answers(|_, answer| {
                let found =
                    matches!(answer, Answer::Receipt { duplicate, .. } if *duplicate == is_repeat);
                usize::from(found)
            })
        };
        // After a start everything says that it may be a repeat; these are known to be one.
        let (mut deliveries, mut again, mut seen) = (0, 0, HashSet::new());
        record.each_answer(|ask, answer| {
            if let (Call::Pull { place, .. }, Answer::Delivered(found)) = (ask, answer) {
                deliveries += found.len();
                let is_known = |one: &&Delivered| !seen.insert((place.clone(), one.message.print));
                again += found.iter().filter(is_known).count();
            }
        });
        let settled = |is_ack: bool, is_late: bool| {
            record.sum_answers(|ask, answer| match (ask, answer) {
                (Call::Settle { how, .. }, Answer::Settled(results))
                    if is_late || (*how == How::Ack) == is_ack =>
                {
                    let counts = results.iter().filter(|one| one.is_some() == is_late);
                    counts.count()
                }
                _ => 0,
            })
        };
        let dead = record.sum_answers(|_, answer| match answer {
            Answer::Dead(letters) => letters.len(),
            _ => 0,
        });
        Self([
            ("receipts", receipts(false)),
            ("receipts of repeats", receipts(true)),
            ("deliveries", deliveries),
            ("redeliveries among them", again),
            ("acks", settled(true, false)),
            ("other words", settled(false, false)),
            ("words too late", settled(true, true)),
            ("dead letters", dead),
        ])
    }

    fn since(&self, before: &Self) -> Self {
        let mut numbers = self.0;
        for ((_, count), (_, before)) in numbers.iter_mut().zip(before.0) {
            *count -= before;
        }
        Self(numbers)
    }
}

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = self.0.map(|(name, count)| format!("{count} {name}"));
        f.write_str(&told.join(", "))
    }
}
