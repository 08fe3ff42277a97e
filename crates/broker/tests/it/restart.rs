use crate::world::{event, in_folder, publish};
use interwire_broker::{PlaceName, Settle};
use protocol::{Filter, Party};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let place = || PlaceName::Inbox(Party::parse("agent.b"));
    let broker = in_folder(folder.path());
    let handle = broker.handle();
    let filter = Filter::from_pairs([("intent", "test.*")]).unwrap();
    handle
        .put_subscription("watch", filter, None, None)
        .await
        .unwrap();
    for number in 0..20 {
        publish(
            &handle,
            &event(&format!("message-{number}"), "agent.b", "{}"),
        )
        .await
        .unwrap();
    }
    let acked = handle.pull(place(), None, 5, Duration::ZERO).await.unwrap();
    let ids = acked.iter().map(|delivery| delivery.id).collect();
    handle.settle(ids, Settle::Ack).await.unwrap();
    let leased = handle.pull(place(), None, 5, Duration::ZERO).await.unwrap();
    assert_eq!(leased.len(), 5);
    let head = handle.head();
    broker.close().await;

    let broker = in_folder(folder.path());
    let handle = broker.handle();
    assert_eq!(handle.head(), head, "cursors stay valid");
    let again = publish(&handle, &event("message-3", "agent.b", "{}"))
        .await
        .unwrap();
    assert!(again.duplicate, "a repeat is known across restarts");
    assert_eq!(again.recipients.len(), 1);
    let rest = handle
        .pull(place(), None, 100, Duration::ZERO)
        .await
        .unwrap();
    let order: Vec<_> = rest.iter().map(|d| d.entry.header.id.to_string()).collect();
    let expected: Vec<_> = (5..20).map(|number| format!("message-{number}")).collect();
    assert_eq!(
        order, expected,
        "acknowledged ones are gone, leased ones are back, in order"
    );
    let watched = handle
        .pull(
            PlaceName::Subscription("watch".into()),
            None,
            100,
            Duration::ZERO,
        )
        .await;
    assert_eq!(watched.unwrap().len(), 20);
    assert_eq!(
        handle
            .find("message-7", None)
            .await
            .unwrap()
            .header
            .id
            .as_ref(),
        "message-7"
    );
    broker.close().await;
}
