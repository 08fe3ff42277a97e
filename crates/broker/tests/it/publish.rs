use crate::world::{event, in_memory, publish};
use interwire_broker::RecipientState;
use protocol::{Code, Party};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_names_place_and_recipients() {
    let broker = in_memory();
    let handle = broker.handle();
    let receipt = publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    assert!(!receipt.duplicate);
    assert_eq!(
        receipt.recipients,
        [(Party::parse("agent.b"), RecipientState::Stored)]
    );
    assert_eq!(receipt.cursor, handle.head());
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_gets_the_first_receipt_and_other_bytes_conflict() {
    let broker = in_memory();
    let handle = broker.handle();
    let first = publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    let again = publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    assert!(again.duplicate);
    assert_eq!(
        (again.cursor, again.recipients),
        (first.cursor, first.recipients)
    );
    let other = publish(&handle, &event("message-1", "agent.b", "{\"n\":1}")).await;
    assert_eq!(other.unwrap_err().code(), Code::IdConflict);
    assert_eq!(handle.head(), first.cursor);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_come_back_as_they_went_in() {
    let broker = in_memory();
    let handle = broker.handle();
    let odd = event(
        "message-1",
        "agent.b",
        "{\"z\":9007199254740993, \"a\" : 1.10,\n\"s\":\"\\u2028\",\"x\":[ ]}",
    );
    publish(&handle, &odd).await.unwrap();
    let found = handle.find("message-1", None).await.unwrap();
    assert_eq!(found.envelope, odd.as_bytes());
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_of_two_senders_asks_which() {
    let broker = in_memory();
    let handle = broker.handle();
    let mine = event("message-1", "agent.b", "{}");
    let theirs = mine.replace("\"from\":\"agent.a\"", "\"from\":\"agent.c\"");
    publish(&handle, &mine).await.unwrap();
    assert!(!publish(&handle, &theirs).await.unwrap().duplicate);
    let unclear = handle.find("message-1", None).await.unwrap_err();
    assert_eq!(unclear.code(), Code::AmbiguousId);
    let sender = Some(Party::parse("agent.c"));
    assert_eq!(
        handle.find("message-1", sender).await.unwrap().envelope,
        theirs.as_bytes()
    );
    assert_eq!(
        handle.find("message-2", None).await.unwrap_err().code(),
        Code::NotFound
    );
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draining_refuses_new_work_but_answers_what_was_taken() {
    let broker = in_memory();
    let handle = broker.handle();
    publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    handle.drain();
    let refused = publish(&handle, &event("message-2", "agent.b", "{}"))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::Draining);
    assert!(handle.readiness().is_err());
    broker.close().await;
}
