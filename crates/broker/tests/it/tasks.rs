use crate::world::{in_folder, in_memory, publish};
use interwire_broker::{Broker, Handle, PlaceName, Settings, TaskNews};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::task::{Limits, SERVICE, TaskFilter};
use protocol::{Code, Header, Party, Rules, TaskState, Timestamp, decode};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_796_054_400_000);

fn event(id: &str, word: &str, task: &str, payload: &str) -> String {
    let (from, to) = if word == "submitted" {
        ("agent:a", "agent:w")
    } else {
        ("agent:w", "agent:a")
    };
    let event = Aep::event(&format!("task.{word}"), from)
        .target(to)
        .task(task);
    event.payload_json(payload).build(id, NOW)
}

fn header(text: &str) -> Header {
    decode(text.as_bytes(), &Rules::at(NOW)).header.unwrap()
}

async fn refused(handle: &Handle, text: &str) -> (Code, String) {
    let refused = publish(handle, text).await.unwrap_err();
    (refused.code(), refused.first().detail.clone())
}

/// Reads a task to its end: the ids of its envelopes, and how it ended.
async fn read(handle: &Handle, task: &str) -> (Vec<String>, TaskState, String) {
    let mut tail = handle.follow_task(task, None).await.unwrap();
    let mut ids = Vec::new();
    loop {
        match tail.next().await.unwrap() {
            TaskNews::Envelope(entry) => ids.push(entry.header.id.to_string()),
            TaskNews::Gap(gap) => panic!("{gap:?}"),
            TaskNews::Ended {
                state,
                entry,
                is_repeat,
            } => {
                assert!(!is_repeat);
                ids.push(entry.header.id.to_string());
                return (ids, state, entry.header.id.to_string());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_a_task_gets_its_past_then_what_comes_then_its_end() {
    let broker = in_memory();
    let handle = broker.handle();
    publish(&handle, &event("e1", "submitted", "t1", "{}"))
        .await
        .unwrap();
    publish(&handle, &event("e2", "started", "t1", "{}"))
        .await
        .unwrap();
    let mut tail = handle.follow_task("t1", None).await.unwrap();
    for expected in ["e1", "e2"] {
        let TaskNews::Envelope(entry) = tail.next().await.unwrap() else {
            panic!("expected {expected}");
        };
        assert_eq!(&*entry.header.id, expected);
    }
    publish(&handle, &event("e3", "progress", "t1", "{}"))
        .await
        .unwrap();
    publish(&handle, &event("e4", "completed", "t1", "{}"))
        .await
        .unwrap();
    let TaskNews::Envelope(entry) = tail.next().await.unwrap() else {
        panic!("expected progress");
    };
    assert_eq!(&*entry.header.id, "e3");
    let TaskNews::Ended { state, entry, .. } = tail.next().await.unwrap() else {
        panic!("expected the end");
    };
    assert_eq!((state, &*entry.header.id), (TaskState::Completed, "e4"));
    let (code, detail) = refused(&handle, &event("e5", "failed", "t1", "{}")).await;
    assert_eq!(code, Code::IllegalTransition);
    assert!(detail.contains("which is completed"), "{detail}");
    // One who comes late gets the same, and a clean end.
    let all = ["e1", "e2", "e3", "e4"].map(str::to_owned).to_vec();
    assert_eq!(
        read(&handle, "t1").await,
        (all, TaskState::Completed, "e4".into())
    );
    assert_eq!(handle.task("t2").await.unwrap_err().code(), Code::NotFound);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_left_memory_is_answered_from_the_journal_and_ends_once() {
    let mut settings = Settings::default();
    settings.exchange.tasks = Limits {
        open_max: 1,
        finished_max: 1,
    };
    let broker = Broker::open(settings, 7).unwrap();
    let handle = broker.handle();
    let task = Aee::task("human.adam", "agent.w", "ops.check.run").build("aee-task-0001", NOW);
    let reply = |id: &str| Aee::result_of(&header(&task)).build(id, NOW);
    publish(&handle, &task).await.unwrap();
    publish(&handle, &reply("aee-reply-0001")).await.unwrap();
    for n in 0..5 {
        publish(
            &handle,
            &event(&format!("s{n}"), "submitted", &format!("t{n}"), "{}"),
        )
        .await
        .unwrap();
        publish(
            &handle,
            &event(&format!("o{n}"), "submitted", &format!("open{n}"), "{}"),
        )
        .await
        .unwrap();
        publish(
            &handle,
            &event(&format!("f{n}"), "failed", &format!("t{n}"), "{}"),
        )
        .await
        .unwrap();
    }
    let kept = handle.tasks(TaskFilter::default(), 99).await.unwrap();
    assert!(kept.len() <= 2);
    assert_eq!(
        refused(&handle, &reply("aee-reply-0002")).await.0,
        Code::IllegalTransition
    );
    assert_eq!(
        refused(&handle, &event("x1", "submitted", "t0", "{}"))
            .await
            .0,
        Code::DuplicateTask
    );
    publish(&handle, &event("x2", "started", "open0", "{}"))
        .await
        .unwrap();
    let history = handle.task("t1").await.unwrap();
    let states: Vec<_> = history.lines.iter().map(|line| line.state).collect();
    assert_eq!(states, [TaskState::Submitted, TaskState::Failed]);
    assert_eq!(
        handle.task("open0").await.unwrap().view.state,
        TaskState::Started
    );
    assert_eq!(read(&handle, "aee-task-0001").await.1, TaskState::Completed);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_is_spoken_of_once_and_both_parties_get_the_word() {
    let folder = tempfile::tempdir().unwrap();
    let broker = in_folder(folder.path());
    let handle = broker.handle();
    let task = Aee::task("human.adam", "agent.w", "ops.check.run").requires(r#"{"timeout_ms":30}"#);
    publish(&handle, &task.build("aee-task-0001", NOW))
        .await
        .unwrap();
    let (ids, state, end) = read(&handle, "aee-task-0001").await;
    assert_eq!((ids.len(), state), (2, TaskState::TimedOut));
    let spoken = handle.find(&end, None).await.unwrap();
    assert_eq!(spoken.header.sender, Party::parse(SERVICE));
    let told: Vec<_> = spoken
        .recipients
        .iter()
        .map(|(party, _)| party.as_str())
        .collect();
    assert_eq!(told, ["human:adam", "agent:w"]);
    let head = handle.head();
    broker.close().await;
    let broker = in_folder(folder.path());
    let handle = broker.handle();
    let inbox = PlaceName::Inbox(Party::parse("human.adam"));
    let pulled = handle.pull(inbox, None, 9, Duration::ZERO).await.unwrap();
    assert_eq!(pulled.len(), 1);
    assert!(
        std::str::from_utf8(&pulled[0].entry.envelope)
            .unwrap()
            .contains("E_TIMEOUT")
    );
    assert_eq!(handle.head(), head, "nothing is said twice");
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_is_asked_of_the_worker_and_only_of_an_open_task() {
    let broker = in_memory();
    let handle = broker.handle();
    let task = Aee::task("human.adam", "agent.w", "ops.check.run").build("aee-task-0001", NOW);
    publish(&handle, &task).await.unwrap();
    let by = Some(Party::parse("human.adam"));
    let reason = Some("no longer needed".to_owned());
    let receipt = handle
        .cancel_task("aee-task-0001", by, reason)
        .await
        .unwrap();
    assert_eq!(receipt.recipients[0].0.as_str(), "agent:w");
    let view = handle.task("aee-task-0001").await.unwrap().view;
    assert!(view.cancel_requested && view.state == TaskState::Submitted);
    let end = Aee::error_of(&header(&task), "E_CANCELLED", "as asked").build("aee-error-0001", NOW);
    publish(&handle, &end).await.unwrap();
    let again = handle
        .cancel_task("aee-task-0001", None, None)
        .await
        .unwrap_err();
    assert_eq!(again.code(), Code::IllegalTransition);
    assert!(again.first().detail.contains("which is cancelled"));
    let unknown = handle
        .cancel_task("aee-task-9999", None, None)
        .await
        .unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let own = handle
        .cancel_task("aee-task-0001", Some(Party::parse(SERVICE)), None)
        .await;
    assert_eq!(own.unwrap_err().code(), Code::ReservedSender);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_speaks_as_the_exchange() {
    let broker = in_memory();
    let handle = broker.handle();
    let forged = Aep::event("task.timed_out", SERVICE)
        .task("t1")
        .build("e1", NOW);
    assert_eq!(refused(&handle, &forged).await.0, Code::ReservedSender);
    assert_eq!(handle.head().sequence, 0);
    broker.close().await;
}
