//! Readers that would rather have the newest than everything: bounded, and told what they missed.

use crate::world::{event, publish};
use interwire_broker::{
    Broker, Entry, Follow, From, Gap, GapReason, Handle, Mode, OnGap, Settings, Tail,
};
use protocol::Filter;
use testkit::Random;

const BEST_EFFORT: Follow = Follow {
    on_gap: OnGap::Skip,
    mode: Mode::BestEffort,
};

fn broker(best_effort_max: usize) -> Broker {
    let settings = Settings {
        best_effort_max,
        ..Settings::default()
    };
    Broker::open(settings, 7).unwrap()
}

/// Publishes messages to `agent.b`, each followed by one to `agent.c`.
async fn fill(handle: &Handle, numbers: std::ops::Range<u64>) {
    for number in numbers {
        for to in ["agent.b", "agent.c"] {
            let id = format!("{to}-{number:05}");
            publish(handle, &event(&id, to, "{}")).await.unwrap();
        }
    }
}

/// Waits until everything that was published stands in the channels: receipts go out before.
async fn until_pushed(handle: &Handle) {
    handle.counts().await.unwrap();
}

async fn follow(handle: &Handle, from: &From) -> Tail {
    let filter = Filter::from_pairs([("target", "agent.b")]).unwrap();
    handle.follow(filter, from, BEST_EFFORT).await.unwrap()
}

fn number(entry: &Entry) -> u64 {
    let (_, number) = entry.header.id.rsplit_once('-').unwrap();
    number.parse().unwrap()
}

/// Reads up to the message of that number; the numbers, and the gaps.
async fn read(tail: &mut Tail, last: u64) -> (Vec<u64>, Vec<Gap>) {
    let (mut numbers, mut gaps) = (Vec::new(), Vec::new());
    while numbers.last() != Some(&last) {
        let batch = tail.next(7).await.unwrap();
        gaps.extend(batch.gap);
        numbers.extend(batch.entries.iter().map(|entry| number(entry)));
    }
    (numbers, gaps)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_fell_behind_goes_on_with_the_newest_and_knows_how_many_it_missed() {
    let broker = broker(10);
    let handle = broker.handle();
    fill(&handle, 0..3).await;
    let mut tail = follow(&handle, &From::Latest).await;
    fill(&handle, 3..13).await;
    assert_eq!(read(&mut tail, 12).await, ((3..13).collect(), Vec::new()));
    fill(&handle, 13..24).await;
    until_pushed(&handle).await;
    let (numbers, gaps) = read(&mut tail, 23).await;
    assert_eq!(numbers, (19..24).collect::<Vec<_>>());
    let [gap] = gaps.as_slice() else {
        panic!("{gaps:?}")
    };
    assert_eq!(
        (gap.count, gap.is_exact, gap.reason),
        (6, true, GapReason::Slow)
    );
    // It ends right before what came next.
    let next = handle.find("agent.b-00019", None).await.unwrap();
    assert!(gap.to.sequence < next.sequence);
    assert_eq!(handle.cursor(&next).sequence - gap.to.sequence, 2);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_comes_back_too_late_is_told_in_records() {
    let broker = broker(10);
    let handle = broker.handle();
    fill(&handle, 0..1).await;
    let from = From::Cursor(handle.head().to_string());
    fill(&handle, 1..6).await;
    // Ten records behind is not too far.
    let mut tail = follow(&handle, &from).await;
    assert_eq!(read(&mut tail, 5).await, ((1..6).collect(), Vec::new()));
    drop(tail);
    fill(&handle, 6..7).await;
    let head = handle.head();
    let mut tail = follow(&handle, &from).await;
    fill(&handle, 7..8).await;
    let (numbers, gaps) = read(&mut tail, 7).await;
    assert_eq!(numbers, [7]);
    let [gap] = gaps.as_slice() else {
        panic!("{gaps:?}")
    };
    assert_eq!((gap.count, gap.is_exact), (12, false));
    assert_eq!(gap.to, head);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_gets_and_what_it_is_told_to_miss_is_everything() {
    let broker = broker(5);
    let handle = broker.handle();
    let mut tail = follow(&handle, &From::Latest).await;
    let mut random = Random::new(16);
    let (mut published, mut next) = (0, 0);
    while published < 400 {
        let more = random.below(12);
        fill(&handle, published..published + more).await;
        published += more;
        for _ in 0..random.below(4) {
            if next == published {
                break;
            }
            let batch = tail.next(3).await.unwrap();
            next += batch.gap.map_or(0, |gap| {
                assert!(gap.is_exact && gap.count > 0, "{gap:?}");
                gap.count
            });
            for entry in batch.entries {
                assert_eq!(number(&entry), next);
                next += 1;
            }
        }
    }
    fill(&handle, published..published + 1).await;
    let (numbers, gaps) = read(&mut tail, published).await;
    assert!(numbers.is_sorted());
    let missed: u64 = gaps.iter().map(|gap| gap.count).sum();
    assert_eq!(next + missed + numbers.len() as u64, published + 1);
    broker.close().await;
}
