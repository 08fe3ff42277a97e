use crate::world::{event, in_folder, in_memory, publish};
use interwire_broker::{From, GapReason, Handle, Settings, Storage, Tail};
use protocol::{Code, Filter};

async fn read(tail: &mut Tail, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    while ids.len() < count {
        let batch = tail.next(64).await.unwrap();
        ids.extend(
            batch
                .entries
                .iter()
                .map(|entry| entry.header.id.to_string()),
        );
    }
    ids
}

async fn fill(handle: &Handle, numbers: std::ops::Range<u32>) -> Vec<String> {
    let mut ids = Vec::new();
    for number in numbers {
        let id = format!("message-{number:04}");
        publish(handle, &event(&id, "agent.b", "{}")).await.unwrap();
        ids.push(id);
    }
    ids
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_goes_from_the_file_to_live_without_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let broker = in_folder(folder.path());
    let expected = fill(&broker.handle(), 0..50).await;
    broker.close().await;
    // After a restart the ring is empty, so the first fifty come from the file.
    let broker = in_folder(folder.path());
    let handle = broker.handle();
    let mut tail = handle
        .tail(Filter::default(), &From::Earliest)
        .await
        .unwrap();
    let writer = tokio::spawn({
        let handle = handle.clone();
        async move { fill(&handle, 50..300).await }
    });
    let ids = read(&mut tail, 300).await;
    let expected: Vec<_> = expected.into_iter().chain(writer.await.unwrap()).collect();
    assert_eq!(ids, expected);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_gives_exactly_the_rest() {
    let broker = in_memory();
    let handle = broker.handle();
    let mut cursors = Vec::new();
    for number in 1..=10 {
        let envelope = event(&format!("message-{number:04}"), "agent.b", "{}");
        cursors.push(
            publish(&handle, &envelope)
                .await
                .unwrap()
                .cursor
                .to_string(),
        );
    }
    let from = From::Cursor(cursors[3].clone());
    let mut tail = handle.tail(Filter::default(), &from).await.unwrap();
    let expected: Vec<_> = (5..=10)
        .map(|number| format!("message-{number:04}"))
        .collect();
    assert_eq!(read(&mut tail, 6).await, expected);
    // The id of an envelope is a place, too.
    let from = From::Cursor("message-0009".into());
    let mut tail = handle.tail(Filter::default(), &from).await.unwrap();
    assert_eq!(read(&mut tail, 1).await, ["message-0010"]);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_cursor_has_its_own_fault() {
    let broker = in_memory();
    let handle = broker.handle();
    publish(&handle, &event("message-1", "agent.b", "{}"))
        .await
        .unwrap();
    let head = handle.head();
    let cases = [
        ("nonsense".to_owned(), Code::CursorUnknown),
        (
            format!("deadbeef-{}-{}", head.epoch, head.sequence),
            Code::CursorForeign,
        ),
        (
            format!("{:08x}-{}-1", head.lineage, head.epoch + 1),
            Code::CursorEpochChanged,
        ),
        (
            format!("{:08x}-{}-{}", head.lineage, head.epoch, head.sequence + 1),
            Code::CursorUnknown,
        ),
    ];
    for (text, code) in cases {
        let from = From::Cursor(text.clone());
        let refused = handle.tail(Filter::default(), &from).await.unwrap_err();
        assert_eq!(refused.code(), code, "{text}");
    }
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_falls_out_of_memory_reads_the_file_and_misses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        ring_bytes_max: 4_096,
        channel_matches_max: 8,
        ..Settings::default()
    };
    let broker = interwire_broker::Broker::open(settings, 7).unwrap();
    let handle = broker.handle();
    let mut tail = handle.tail(Filter::default(), &From::Latest).await.unwrap();
    assert!(tail.next(1).await.unwrap().caught_up);
    let expected = fill(&handle, 0..200).await;
    assert_eq!(read(&mut tail, 200).await, expected);
    assert!(handle.meter().lagging_reads.get() > 0);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_ends_at_the_newest_and_can_be_continued() {
    let broker = in_memory();
    let handle = broker.handle();
    fill(&handle, 0..25).await;
    let first = handle
        .page(Filter::default(), From::Earliest, 10)
        .await
        .unwrap();
    assert_eq!((first.entries.len(), first.is_last), (10, false));
    let rest = From::Cursor(first.next.to_string());
    let second = handle.page(Filter::default(), rest, 100).await.unwrap();
    assert_eq!((second.entries.len(), second.is_last), (15, true));
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_neither_memory_nor_the_index_holds_is_found_in_the_file() {
    let settings = Settings {
        ring_bytes_max: 4_096,
        ..Settings::default()
    };
    let broker = interwire_broker::Broker::open(settings, 7).unwrap();
    let handle = broker.handle();
    fill(&handle, 0..200).await;
    for id in ["message-0000", "message-0100", "message-0199"] {
        let found = handle.find(id, None).await.unwrap();
        assert_eq!(&*found.header.id, id);
    }
    let missing = handle.find("message-0200", None).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_repair_could_not_save_is_told_where_it_stood() {
    let disk = std::sync::Arc::new(journal::MemoryDisk::default());
    let open = || {
        let disk = std::sync::Arc::clone(&disk);
        interwire_broker::Broker::open_on(disk, None, Settings::default(), 7).unwrap()
    };
    let broker = open();
    fill(&broker.handle(), 0..3).await;
    let place = broker.handle().head().sequence;
    broker.close().await;
    // As a repair leaves it: placeholders at the places of two records that could not be read.
    let on = std::sync::Arc::clone(&disk);
    let mut journal = journal::Journal::open(on, journal::Options::new(7)).unwrap();
    journal.append(journal::LOST, &[]);
    journal.append(journal::LOST, &[]);
    journal.commit().unwrap();
    journal.close().unwrap();
    let broker = open();
    let handle = broker.handle();
    fill(&handle, 3..5).await;
    let mut tail = handle
        .tail(Filter::default(), &From::Earliest)
        .await
        .unwrap();
    assert_eq!(read(&mut tail, 3).await.len(), 3);
    let gap = tail.next(64).await.unwrap().gap.unwrap();
    assert_eq!(
        (gap.from.sequence, gap.to.sequence, gap.count),
        (place + 1, place + 2, 2)
    );
    assert_eq!((gap.reason, gap.is_exact), (GapReason::Lost, false));
    assert_eq!(read(&mut tail, 2).await, ["message-0003", "message-0004"]);
    broker.close().await;
}
