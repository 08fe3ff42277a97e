use crate::world::{event, in_memory, publish};
use interwire_broker::{Delivery, DeliveryId, Departure, Handle, PlaceName, Settle};
use protocol::{Code, Filter, Party};
use std::task::Poll;
use std::time::Duration;

fn inbox(party: &str) -> PlaceName {
    PlaceName::Inbox(Party::parse(party))
}

async fn pull(handle: &Handle, party: &str) -> Vec<Delivery> {
    handle
        .pull(inbox(party), None, 10, Duration::ZERO)
        .await
        .unwrap()
}

fn ids(deliveries: &[Delivery]) -> Vec<DeliveryId> {
    deliveries.iter().map(|delivery| delivery.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_keeps_what_came_before_anybody_read_it() {
    let broker = in_memory();
    let handle = broker.handle();
    for id in ["message-1", "message-2", "message-3"] {
        publish(&handle, &event(id, "agent.b", "{}")).await.unwrap();
    }
    let deliveries = pull(&handle, "agent:b").await;
    let order: Vec<_> = deliveries
        .iter()
        .map(|d| d.entry.header.id.to_string())
        .collect();
    assert_eq!(order, ["message-1", "message-2", "message-3"]);
    assert!(
        pull(&handle, "agent.b").await.is_empty(),
        "leased deliveries are not handed out twice"
    );
    let results = handle.settle(ids(&deliveries), Settle::Ack).await.unwrap();
    assert!(results.iter().all(Result::is_ok));
    let late = handle.settle(ids(&deliveries), Settle::Ack).await.unwrap();
    assert_eq!(late[0].as_ref().unwrap_err().code(), Code::LeaseLost);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_reached_nobody_waits_again_in_order_and_nobody_hears_of_an_attempt() {
    let broker = in_memory();
    let handle = broker.handle();
    for id in ["message-1", "message-2", "message-3"] {
        publish(&handle, &event(id, "agent.b", "{}")).await.unwrap();
    }
    let head = handle.head();
    for _ in 0..20 {
        let pulled = pull(&handle, "agent.b").await;
        let seen = pulled
            .iter()
            .map(|one| (&*one.entry.header.id, one.attempt));
        let expected = [("message-1", 1), ("message-2", 1), ("message-3", 1)];
        assert!(seen.eq(expected), "{pulled:?}");
        handle.give_back_unseen(ids(&pulled)).await.unwrap();
    }
    assert_eq!(handle.head(), head, "nothing is written for it");
    let pulled = pull(&handle, "agent.b").await;
    handle.settle(ids(&pulled), Settle::Ack).await.unwrap();
    handle.give_back_unseen(ids(&pulled)).await.unwrap();
    assert!(
        pull(&handle, "agent.b").await.is_empty(),
        "settled is settled"
    );
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_pull_gets_the_next_message() {
    let broker = in_memory();
    let handle = broker.handle();
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move {
            handle
                .pull(inbox("agent.b"), None, 10, Duration::from_secs(30))
                .await
                .unwrap()
        }
    });
    publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    let deliveries = waiting.await.unwrap();
    assert_eq!(deliveries.len(), 1);
    assert_eq!(deliveries[0].attempt, 1);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_back_comes_again_with_a_higher_attempt() {
    let broker = in_memory();
    let handle = broker.handle();
    publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    let first = pull(&handle, "agent.b").await;
    let nack = Settle::Nack {
        retry_after_ms: None,
        reason: "".into(),
    };
    handle.settle(ids(&first), nack).await.unwrap();
    let again = handle
        .pull(inbox("agent.b"), None, 10, Duration::from_secs(30))
        .await
        .unwrap();
    assert_eq!(
        (again[0].entry.sequence, again[0].attempt),
        (first[0].entry.sequence, 2)
    );
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_reaches_subscriptions_and_forwards_into_inboxes() {
    let broker = in_memory();
    let handle = broker.handle();
    let filter = || Filter::from_pairs([("target", "bus.ops")]).unwrap();
    handle
        .put_subscription("watch", filter(), None, None)
        .await
        .unwrap();
    handle
        .put_subscription("team", filter(), Some(Party::parse("agent.w")), None)
        .await
        .unwrap();
    publish(&handle, &event("message-1", "bus.ops", "{}"))
        .await
        .unwrap();
    publish(&handle, &event("message-2", "bus.other", "{}"))
        .await
        .unwrap();
    let watched = handle
        .pull(
            PlaceName::Subscription("watch".into()),
            None,
            10,
            Duration::ZERO,
        )
        .await;
    assert_eq!(watched.unwrap().len(), 1);
    assert_eq!(pull(&handle, "agent.w").await.len(), 1);
    assert!(
        pull(&handle, "bus.ops").await.is_empty(),
        "a bus has no inbox"
    );
    let missing = handle
        .pull(
            PlaceName::Subscription("none".into()),
            None,
            1,
            Duration::ZERO,
        )
        .await;
    assert_eq!(missing.unwrap_err().code(), Code::NotFound);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_handed_to_a_consumer_that_has_left() {
    let broker = in_memory();
    let handle = broker.handle();
    let patience = Duration::from_secs(3_600);
    let mut waiting = Box::pin(handle.pull(inbox("agent.b"), Some("w1".into()), 10, patience));
    // Asked once, it has its place in the queue of requests.
    let asked = std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context)));
    assert!(asked.await.is_pending());
    handle
        .leave(inbox("agent.b"), Some("w1".into()), Departure::Leaves)
        .await
        .unwrap();
    publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    assert!(waiting.await.unwrap().is_empty());
    let pulled = handle.pull(inbox("agent.b"), Some("w2".into()), 10, Duration::ZERO);
    assert_eq!(pulled.await.unwrap()[0].attempt, 1);
    broker.close().await;
}
