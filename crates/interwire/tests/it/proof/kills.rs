//! SIGKILL at any moment, round after round on one folder, with everything going on at once: sixteen
//! publishers, groups of consumers, durable subscriptions, live readers, tasks and messages with
//! deadlines. Nothing that was promised is lost, nothing goes to the wrong reader, repeats say so.
//!
//! `INTERWIRE_CRASH_ROUNDS` shortens or lengthens it.

use super::witness::{Record, Witness};
use super::work::{
    Fuse, Position, TERMS, consume, finish, follow_socket, follow_stream, places, prepare,
    publish_over_http, publish_over_socket,
};
use crate::process::Exchange;
use std::time::Instant;
use testkit::Random;
use testkit::history::{Answer, Wants, What, inbox, subscription};

const PUBLISHERS: usize = 16;
/// Letters of one publisher in one round, at most.
const LETTERS: usize = 60;

fn rounds() -> usize {
    let rounds = std::env::var("INTERWIRE_CRASH_ROUNDS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(8)
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
    let mut seen = Numbers::of(&record);
    for round in 0..rounds() {
        let exchange = Exchange::on(folder.path());
        let began = Instant::now();
        let length = 1 + random.index(PUBLISHERS * LETTERS);
        let work = one_round(exchange, &record, round, length, &mut random, positions);
        positions = runtime.block_on(work);
        let all = Numbers::of(&record);
        let (took, told) = (began.elapsed().as_millis(), all.since(&seen));
        println!("round {round:>3}: killed after {length:>3} answers, {took:>5} ms: {told}");
        seen = all;
    }
    let exchange = Exchange::on(folder.path());
    let witness = Witness::new(&exchange.url, &record);
    runtime.block_on(finish(&witness, &places(PUBLISHERS)));
    println!("{} kills, and in all {}", rounds(), Numbers::of(&record));
    record.check("kills");
}

async fn one_round(
    exchange: Exchange,
    record: &Record,
    round: usize,
    length: usize,
    random: &mut Random,
    positions: Vec<Position>,
) -> Vec<Position> {
    let fuse = Fuse::of(length);
    let witness = || Witness::new(&exchange.url, record);
    let mut tasks = Vec::new();
    for sender in 0..PUBLISHERS {
        let (fuse, run) = (fuse.clone(), round.to_string());
        tasks.push(if sender % 2 == 0 {
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
    fuse.is_burnt().await;
    exchange.kill();
    for task in tasks {
        task.await.unwrap();
    }
    let mut positions = Vec::new();
    for reader in readers {
        positions.push(reader.await.unwrap());
    }
    record.died();
    positions
}

/// What has been seen so far.
struct Numbers([(&'static str, usize); 6]);

impl Numbers {
    fn of(record: &Record) -> Self {
        let count = |of: &dyn Fn(&Answer) -> usize| {
            record.sum(|what| match what {
                What::Answered { answer, .. } => of(answer),
                What::Called { .. } | What::Abandoned { .. } | What::Died => 0,
            })
        };
        let delivered = |answer: &Answer, is_repeat: bool| match answer {
            Answer::Delivered(found) => found
                .iter()
                .filter(|one| !is_repeat || one.redelivered)
                .count(),
            _ => 0,
        };
        let settled = |answer: &Answer, is_late: bool| match answer {
            Answer::Settled(results) => results
                .iter()
                .filter(|one| one.is_some() == is_late)
                .count(),
            _ => 0,
        };
        let dead = |answer: &Answer| match answer {
            Answer::Dead(letters) => letters.len(),
            _ => 0,
        };
        let receipt = |answer: &Answer| usize::from(matches!(answer, Answer::Receipt { .. }));
        Self([
            ("receipts", count(&receipt)),
            ("deliveries", count(&|answer| delivered(answer, false))),
            ("repeats", count(&|answer| delivered(answer, true))),
            ("settled", count(&|answer| settled(answer, false))),
            ("settled too late", count(&|answer| settled(answer, true))),
            ("dead letters", count(&dead)),
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
