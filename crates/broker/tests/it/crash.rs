//! Power fails at any moment, with keys and checkpoints half written: every receipt keeps its word.

use crate::world::{event, publish, small};
use interwire_broker::{
    Broker, Clock, Durability, From, PlaceName, Settings, Settle, Stepped, Storage,
};
use protocol::{Code, Filter, Party, Timestamp};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use testkit::{Cause, CrashDisk, Operation, Random};

fn open(disk: &CrashDisk, durability: Durability) -> Broker {
    let settings = Settings {
        storage: Storage::Folder("unused".into()),
        durability,
        ..small()
    };
    Broker::open_on(Arc::new(disk.clone()), None, settings, 7).unwrap()
}

/// Three lives of one journal; in each it publishes, acknowledges, repeats, and then power fails.
async fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut disk = CrashDisk::new(seed);
    let durability = if random.one_in(3) {
        Durability::Os
    } else {
        Durability::Fsync
    };
    let place = || PlaceName::Inbox(Party::parse("agent.b"));
    let (mut sent, mut acked) = (0, 0);
    for life in 0..4 {
        let broker = open(&disk, durability);
        let handle = broker.handle();
        let mut known = 0;
        for number in 0..sent {
            let again = publish(
                &handle,
                &event(&format!("message-{number:04}"), "agent.b", "{}"),
            )
            .await;
            let is_known = again.unwrap().duplicate;
            assert!(
                is_known || durability == Durability::Os,
                "seed {seed}, life {life}: {number} was taken twice"
            );
            // What is lost is the end, and it is lost whole.
            assert!(
                known == number || !is_known,
                "seed {seed}, life {life}: {number} is known without those before"
            );
            known += usize::from(is_known);
        }
        let counts = handle.counts().await.unwrap().0;
        assert!(
            counts.waiting >= sent.saturating_sub(acked),
            "seed {seed}, life {life}"
        );
        for _ in 0..random.below(120) {
            match random.below(8) {
                0 => {
                    let max = 1 + random.index(20);
                    let pulled = handle
                        .pull(place(), None, max, Duration::ZERO)
                        .await
                        .unwrap();
                    acked += pulled.len();
                    let ids = pulled.iter().map(|delivery| delivery.id).collect();
                    let settled = handle.settle(ids, Settle::Ack).await.unwrap();
                    assert!(settled.iter().all(Result::is_ok));
                }
                1 if sent > 0 => {
                    let id = format!("message-{:04}", random.index(sent));
                    let other = publish(&handle, &event(&id, "agent.b", "{\"n\":1}")).await;
                    assert_eq!(other.unwrap_err().code(), Code::IdConflict);
                }
                2 => tokio::time::sleep(Duration::from_millis(random.below(30))).await,
                _ => {
                    let id = format!("message-{sent:04}");
                    let new = publish(&handle, &event(&id, "agent.b", "{}"))
                        .await
                        .unwrap();
                    assert!(!new.duplicate, "seed {seed}: {id} is new");
                    sent += 1;
                }
            }
        }
        if random.one_in(4) {
            broker.close().await;
            disk = disk.crash();
        } else {
            let crashed = disk.crash();
            broker.close().await;
            disk = crashed;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_crash_makes_a_message_unknown_or_known_twice() {
    let asked = std::env::var("INTERWIRE_SEEDS").unwrap_or_default();
    let (from, to) = asked.split_once("..").unwrap_or(("0", &asked));
    for seed in from.parse().unwrap_or(0)..to.parse().unwrap_or(25) {
        run(seed).await;
    }
}

/// Whoever asks in the turn whose commit fails is not shown what that turn did.
#[tokio::test]
async fn what_is_seen_is_durable() {
    let disk = CrashDisk::new(1);
    let settings = Settings {
        storage: Storage::Folder("unused".into()),
        ..small()
    };
    let clock = Clock::set_to(Timestamp::from_millis(1_772_274_600_000));
    let opened = Stepped::open_on(Arc::new(disk.clone()), settings, clock, 7);
    let mut exchange = opened.unwrap();
    let handle = exchange.handle();
    let envelope = event("message-0001", "agent.b", "{}");
    let mut context = Context::from_waker(Waker::noop());
    let mut sent = pin!(publish(&handle, &envelope));
    let mut seen = pin!(handle.place(PlaceName::Inbox(Party::parse("agent.b"))));
    assert!(sent.as_mut().poll(&mut context).is_pending());
    assert!(seen.as_mut().poll(&mut context).is_pending());
    disk.fail_after(0, Operation::Write, Cause::Full);
    exchange.step();
    let Poll::Ready(Err(refused)) = seen.as_mut().poll(&mut context) else {
        panic!("expected a refusal");
    };
    assert_eq!(refused.code(), Code::StorageFailed);
    let Poll::Ready(Err(refused)) = sent.as_mut().poll(&mut context) else {
        panic!("expected a refusal");
    };
    assert_eq!(refused.code(), Code::StorageFailed);
}

/// A reader that waits for what could not be written would wait for ever, and its cursor would pass
/// over what others write there after a restart.
#[tokio::test]
async fn readers_that_come_with_or_after_a_failed_commit_end_where_the_journal_does() {
    let disk = CrashDisk::new(1);
    let settings = Settings {
        storage: Storage::Folder("unused".into()),
        ..small()
    };
    let clock = Clock::set_to(Timestamp::from_millis(1_772_274_600_000));
    let opened = Stepped::open_on(Arc::new(disk.clone()), settings, clock, 7);
    let mut exchange = opened.unwrap();
    let handle = exchange.handle();
    let envelopes = ["message-0001", "message-0002"].map(|id| event(id, "agent.b", "{}"));
    let mut context = Context::from_waker(Waker::noop());
    let mut kept = pin!(publish(&handle, &envelopes[0]));
    assert!(kept.as_mut().poll(&mut context).is_pending());
    exchange.step();
    assert!(kept.as_mut().poll(&mut context).is_ready());

    let mut lost = pin!(publish(&handle, &envelopes[1]));
    assert!(lost.as_mut().poll(&mut context).is_pending());
    disk.fail_after(0, Operation::Write, Cause::Full);
    for when in ["with it", "after it"] {
        for from in [From::Earliest, From::Latest] {
            let mut coming = pin!(handle.tail(Filter::default(), &from));
            assert!(coming.as_mut().poll(&mut context).is_pending());
            exchange.step();
            let Poll::Ready(Ok(mut tail)) = coming.as_mut().poll(&mut context) else {
                panic!("expected a reader that comes {when} from {from:?}");
            };
            loop {
                let next = pin!(tail.next(9)).poll(&mut context);
                let Poll::Ready(Ok(batch)) = next else {
                    panic!("expected to catch up {when} from {from:?}, got {next:?}");
                };
                if batch.caught_up {
                    break;
                }
            }
            assert_eq!(tail.cursor(), handle.head(), "{when} from {from:?}");
        }
    }
    assert!(matches!(
        lost.as_mut().poll(&mut context),
        Poll::Ready(Err(_))
    ));
}
