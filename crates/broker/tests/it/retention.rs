//! Old messages go by policy, never what is owed unless the policy says so, and never in silence.

use crate::world::{event, files, publish, small, until};
use interwire_broker::{
    Broker, Clock, From, GapReason, Handle, OpenError, Owed, PlaceName, Retention, Settings,
    Settle, Stepped, Storage,
};
use protocol::{Code, Filter, Party};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;
use testkit::CrashDisk;

fn open(folder: &Path, retention: Retention) -> Broker {
    let settings = Settings {
        storage: Storage::Folder(folder.to_owned()),
        retention,
        ..small()
    };
    Broker::open(settings, 7).unwrap()
}

const FEW: Retention = Retention {
    age_ms: None,
    bytes: None,
    records: Some(60),
    owed: Owed::Keep,
};

async fn fill(handle: &Handle, numbers: std::ops::Range<usize>, to: &str) {
    for number in numbers {
        let sent = publish(handle, &event(&format!("message-{number:04}"), to, "{}")).await;
        assert!(!sent.unwrap().duplicate);
    }
}

async fn ack_all(handle: &Handle, party: &str) {
    loop {
        let place = PlaceName::Inbox(Party::parse(party));
        let pulled = handle.pull(place, None, 100, Duration::ZERO).await.unwrap();
        if pulled.is_empty() {
            return;
        }
        let ids = pulled.iter().map(|delivery| delivery.id).collect();
        handle.settle(ids, Settle::Ack).await.unwrap();
    }
}

/// The first sequence that is kept.
async fn first(handle: &Handle) -> u64 {
    let page = handle
        .page(Filter::default(), From::Earliest, 1)
        .await
        .unwrap();
    page.entries
        .first()
        .map_or(u64::MAX, |entry| entry.sequence)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_is_owed_goes_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let broker = open(folder.path(), FEW);
    let handle = broker.handle();
    let tail = handle
        .tail(Filter::default(), &From::Earliest)
        .await
        .unwrap();
    fill(&handle, 0..200, "agent.b").await;
    ack_all(&handle, "agent.b").await;
    let begun = handle
        .page(Filter::default(), From::Earliest, 1)
        .await
        .unwrap()
        .next
        .to_string();
    until("dropping", || handle.meter().dropped.get() > 0).await;
    let kept = first(&handle).await;
    assert!(kept > 1);
    let head = handle.head();
    assert!(
        head.sequence - kept + 1 >= 60,
        "at least what the policy keeps"
    );

    let old = handle
        .page(Filter::default(), From::Cursor(begun.clone()), 9)
        .await;
    let refusal = old.unwrap_err();
    assert_eq!(refusal.code(), Code::CursorExpired);
    let detail = &refusal.first().detail;
    assert!(detail.contains(&head.to_string()), "{detail}");
    let mut tail = tail;
    let gap = loop {
        let batch = tail.next(50).await.unwrap();
        assert!(!batch.caught_up, "a gap was passed over in silence");
        if let Some(gap) = batch.gap {
            break gap;
        }
    };
    assert_eq!(
        (gap.reason, gap.to.sequence),
        (GapReason::Retention, kept - 1)
    );

    assert_eq!(
        handle.find("message-0000", None).await.unwrap_err().code(),
        Code::NotFound
    );
    assert!(handle.find("message-0199", None).await.is_ok());
    let again = publish(&handle, &event("message-0199", "agent.b", "{}"))
        .await
        .unwrap();
    assert!(again.duplicate);
    let anew = publish(&handle, &event("message-0000", "agent.b", "{\"other\":1}")).await;
    assert!(!anew.unwrap().duplicate, "its first message is gone");
    broker.close().await;

    let broker = open(folder.path(), FEW);
    let handle = broker.handle();
    for (number, is_known) in [(0, true), (1, false), (198, true)] {
        let payload = if number == 0 { "{\"other\":1}" } else { "{}" };
        let event = event(&format!("message-{number:04}"), "agent.b", payload);
        assert_eq!(
            publish(&handle, &event).await.unwrap().duplicate,
            is_known,
            "{number}"
        );
    }
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_stays_until_it_is_settled() {
    let folder = tempfile::tempdir().unwrap();
    let broker = open(folder.path(), FEW);
    let handle = broker.handle();
    fill(&handle, 0..40, "agent.b").await;
    ack_all(&handle, "agent.b").await;
    fill(&handle, 40..41, "agent.slow").await;
    fill(&handle, 41..300, "agent.b").await;
    ack_all(&handle, "agent.b").await;
    until("dropping", || handle.meter().dropped.get() > 0).await;
    let owed = handle.find("message-0040", None).await.unwrap().sequence;
    // Whatever else may go: several rounds do not take it.
    let segments = files(folder.path(), ".seg").len();
    fill(&handle, 300..400, "agent.b").await;
    ack_all(&handle, "agent.b").await;
    until("more segments", || {
        files(folder.path(), ".seg").len() > segments
    })
    .await;
    assert!(first(&handle).await <= owed);
    ack_all(&handle, "agent.slow").await;
    until("dropping what was owed", || {
        let name = &files(folder.path(), ".seg")[0];
        name.trim_end_matches(".seg").parse::<u64>().unwrap() > owed
    })
    .await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_policy_to_drop_owed_deliveries_end_with_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let policy = Retention {
        owed: Owed::Drop,
        ..FEW
    };
    let broker = open(folder.path(), policy);
    let handle = broker.handle();
    // Held before there is enough for anything to be dropped.
    fill(&handle, 0..1, "agent.b").await;
    let place = || PlaceName::Inbox(Party::parse("agent.b"));
    let held = handle.pull(place(), None, 1, Duration::ZERO).await.unwrap();
    fill(&handle, 1..200, "agent.b").await;
    until("dropping", || handle.meter().dropped.get() > 0).await;
    let kept = first(&handle).await;
    let settled = handle.settle(vec![held[0].id], Settle::Ack).await.unwrap();
    assert_eq!(settled[0].as_ref().unwrap_err().code(), Code::LeaseLost);
    let ended = handle.meter().dropped_deliveries.get();
    assert!(ended > 0 && handle.meter().dropped.get() > 0);
    let waiting = handle.counts().await.unwrap().0.waiting as u64;
    assert_eq!(waiting + ended, 200);
    broker.close().await;

    let broker = open(folder.path(), Retention::default());
    let handle = broker.handle();
    assert_eq!(handle.counts().await.unwrap().0.waiting as u64, waiting);
    let rest = handle
        .pull(place(), None, 500, Duration::ZERO)
        .await
        .unwrap();
    assert!(rest.iter().all(|delivery| delivery.entry.sequence >= kept));
    assert_eq!(rest.len() as u64, waiting);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_oldest_records_and_without_a_checkpoint_nothing_starts_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let broker = open(folder.path(), FEW);
    let handle = broker.handle();
    fill(&handle, 0..200, "agent.b").await;
    ack_all(&handle, "agent.b").await;
    until("dropping", || handle.meter().dropped.get() > 0).await;
    broker.close().await;
    let kept: u64 = files(folder.path(), ".seg")[0]
        .trim_end_matches(".seg")
        .parse()
        .unwrap();
    for name in files(folder.path(), ".ckp") {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let settings = |allow_lost_state| Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        allow_lost_state,
        ..small()
    };
    match Broker::open(settings(false), 7) {
        Err(OpenError::LostState { first }) => assert_eq!(first, kept),
        Ok(_) | Err(_) => panic!("expected a start without its state to be refused"),
    }
    let broker = Broker::open(settings(true), 7).unwrap();
    let again = publish(&broker.handle(), &event("message-0199", "agent.b", "{}")).await;
    assert!(again.unwrap().duplicate);
    broker.close().await;
    // From now on its own checkpoint stands for what is gone.
    Broker::open(settings(false), 7).unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_in_memory_lets_go_too() {
    let settings = Settings {
        retention: FEW,
        ..small()
    };
    let broker = Broker::open(settings, 7).unwrap();
    let handle = broker.handle();
    fill(&handle, 0..300, "agent.b").await;
    ack_all(&handle, "agent.b").await;
    while first(&handle).await == 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    broker.close().await;
}

/// A journal that was written while the clock was a year ahead: without more, nothing of it would go
/// by its age for a year, nor anything behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_by_a_clock_that_has_been_set_back_goes_by_its_age() {
    const YEAR_MS: i64 = 31_536_000_000;
    let disk = CrashDisk::new(1);
    let settings = |age_ms| Settings {
        storage: Storage::Folder("unused".into()),
        retention: Retention {
            age_ms,
            owed: Owed::Drop,
            ..Retention::default()
        },
        ..small()
    };
    let ahead = Clock::set_to(Clock::start().now().plus_millis(YEAR_MS));
    let mut exchange = Stepped::open_on(Arc::new(disk.clone()), settings(None), ahead, 7).unwrap();
    let handle = exchange.handle();
    for number in 0..100 {
        let envelope = event(&format!("message-{number:04}"), "agent.b", "{}");
        let mut sent = pin!(publish(&handle, &envelope));
        let mut context = Context::from_waker(Waker::noop());
        assert!(sent.as_mut().poll(&mut context).is_pending());
        exchange.step();
        assert!(sent.as_mut().poll(&mut context).is_ready());
        // The runtime lets a task do only so much at a time.
        tokio::task::yield_now().await;
    }
    exchange.close();
    let broker = Broker::open_on(Arc::new(disk.clone()), None, settings(Some(1)), 7).unwrap();
    let handle = broker.handle();
    // What is new lets a start do without what is old.
    fill(&handle, 100..160, "agent.b").await;
    let going = async {
        while first(&handle).await <= 90 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(60), going).await;
    gone.expect("what is old to go");
    broker.close().await;
}
