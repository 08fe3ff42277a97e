use super::{Index, IndexRow};
use crate::Error;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const LINEAGE: u64 = 0xfeed_beef_dead_cafe;

fn message(sequence: u64, id: &str, conversation: &str, task: Option<&str>) -> IndexRow {
    IndexRow {
        sequence,
        id: id.to_owned(),
        sender: format!("agent.sender-{}", sequence % 3),
        conversation: Some(conversation.to_owned()),
        task: task.map(str::to_owned),
        at_ms: 1_700_000_000_000 + i64::try_from(sequence).unwrap(),
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.sqlite");
    (folder, path)
}

fn filled(path: Option<&Path>) -> (Index, Vec<IndexRow>) {
    let mut index = Index::open(path, LINEAGE, 1).unwrap();
    let rows = vec![
        message(1, "m-1", "c-1", Some("t-1")),
        message(3, "m-2", "c-2", None),
        message(4, "m-1", "c-1", None),
        message(7, "m-3", "c-1", Some("t-1")),
    ];
    index.apply(&rows[..2], 3).unwrap();
    index.apply(&rows[2..], 9).unwrap();
    (index, rows)
}

fn sequences(rows: &[IndexRow]) -> Vec<u64> {
    rows.iter().map(|row| row.sequence).collect()
}

/// The same on disk and in memory.
fn on_both(check: impl Fn(Option<&Path>)) {
    check(None);
    let (_folder, path) = folder();
    check(Some(&path));
}

#[test]
fn an_id_finds_the_rows_of_all_senders_as_they_were_applied() {
    on_both(|path| {
        let (index, rows) = filled(path);
        assert_eq!(
            index.by_id("m-1").unwrap(),
            [rows[0].clone(), rows[2].clone()]
        );
        assert_eq!(index.by_id("m-4").unwrap(), []);
    });
}

#[test]
fn a_conversation_is_read_page_by_page_in_journal_order() {
    on_both(|path| {
        let (index, _) = filled(path);
        let page = |after, limit| sequences(&index.by_conversation("c-1", after, limit).unwrap());
        assert_eq!(page(0, 2), [1, 4]);
        assert_eq!(page(4, 2), [7]);
        assert_eq!(page(7, 2), []);
        assert_eq!(page(0, usize::MAX), [1, 4, 7]);
        assert_eq!(page(u64::MAX, 2), []);
        assert_eq!(page(0, 0), []);
    });
}

#[test]
fn a_task_finds_only_the_messages_that_name_it() {
    on_both(|path| {
        let (index, _) = filled(path);
        assert_eq!(sequences(&index.by_task("t-1", 0, 10).unwrap()), [1, 7]);
        assert_eq!(sequences(&index.by_task("t-1", 1, 10).unwrap()), [7]);
    });
}

#[test]
fn an_id_a_conversation_and_a_task_of_one_name_are_three_things() {
    on_both(|path| {
        let mut index = Index::open(path, LINEAGE, 1).unwrap();
        let rows = [
            message(1, "x", "a", None),
            message(2, "b", "x", None),
            message(3, "c", "d", Some("x")),
        ];
        index.apply(&rows, 3).unwrap();
        assert_eq!(sequences(&index.by_id("x").unwrap()), [1]);
        assert_eq!(sequences(&index.by_conversation("x", 0, 9).unwrap()), [2]);
        assert_eq!(sequences(&index.by_task("x", 0, 9).unwrap()), [3]);
    });
}

#[test]
fn ids_are_compared_byte_by_byte() {
    on_both(|path| {
        let mut index = Index::open(path, LINEAGE, 1).unwrap();
        let ids = [
            "A",
            "a",
            "a ",
            "a\0",
            "a\0b",
            "%",
            "é",
            "e\u{301}",
            "",
            "'; DROP TABLE place; --",
        ];
        let rows: Vec<_> = (1..)
            .zip(ids)
            .map(|(sequence, id)| message(sequence, id, "c", None))
            .collect();
        index.apply(&rows, 99).unwrap();
        for row in rows {
            assert_eq!(index.by_id(&row.id).unwrap(), [row]);
        }
    });
}

#[test]
fn a_closed_index_is_resumed_where_it_was() {
    let (_folder, path) = folder();
    drop(filled(Some(&path)));
    let index = Index::open(Some(&path), LINEAGE, 1).unwrap();
    assert_eq!(index.applied(), 9);
    assert_eq!(sequences(&index.by_id("m-1").unwrap()), [1, 4]);
}

#[test]
fn an_index_of_another_lineage_epoch_schema_or_hash_is_begun_again() {
    type Spoil = fn(&Connection) -> rusqlite::Result<usize>;
    let cases: [(u64, u32, Spoil); 6] = [
        (LINEAGE + 1, 1, |_| Ok(0)),
        (LINEAGE, 2, |_| Ok(0)),
        (LINEAGE, 1, |file| {
            file.execute("UPDATE meta SET schema = 0", [])
        }),
        (LINEAGE, 1, |file| {
            file.execute("UPDATE meta SET hash = hash + 1", [])
        }),
        (LINEAGE, 1, |file| file.execute("DELETE FROM meta", [])),
        (LINEAGE, 1, |file| file.execute("DROP TABLE place", [])),
    ];
    for (lineage, epoch, spoil) in cases {
        let (_folder, path) = folder();
        drop(filled(Some(&path)));
        spoil(&Connection::open(&path).unwrap()).unwrap();
        let mut index = Index::open(Some(&path), lineage, epoch).unwrap();
        assert_eq!(index.applied(), 0);
        assert_eq!(index.by_id("m-1").unwrap(), []);
        index.apply(&[message(1, "m-1", "c", None)], 1).unwrap();
        assert_eq!(index.reader().unwrap().by_id("m-1").unwrap().len(), 1);
    }
}

#[test]
fn a_file_that_is_no_database_is_begun_again() {
    let (_folder, path) = folder();
    for garbage in [&b""[..], b"not a database", &[0xa5; 8192]] {
        std::fs::write(&path, garbage).unwrap();
        std::fs::write(path.with_extension("sqlite-wal"), b"left over").unwrap();
        assert_eq!(Index::open(Some(&path), LINEAGE, 1).unwrap().applied(), 0);
    }
}

#[test]
fn damage_met_by_a_write_makes_the_next_open_begin_again() {
    let (_folder, path) = folder();
    drop(filled(Some(&path)));
    let mut bytes = std::fs::read(&path).unwrap();
    // The first page holds the schema and stays whole; `meta` is the second.
    bytes[8192..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let mut index = Index::open(Some(&path), LINEAGE, 1).unwrap();
    assert_eq!(index.applied(), 9, "opening does not read what is damaged");
    let error = index
        .apply(&[message(10, "m-9", "c-9", None)], 10)
        .unwrap_err();
    assert!(matches!(error, Error::Index(_)), "{error}");
    drop(index);
    assert_eq!(Index::open(Some(&path), LINEAGE, 1).unwrap().applied(), 0);
}

#[test]
fn a_folder_that_is_not_there_is_an_error_and_creates_nothing() {
    let (folder, _) = folder();
    let path = folder.path().join("missing").join("index.sqlite");
    assert!(matches!(
        Index::open(Some(&path), LINEAGE, 1),
        Err(Error::Index(_))
    ));
    assert!(!path.exists());
}

#[test]
fn a_batch_that_fails_leaves_nothing_behind() {
    on_both(|path| {
        let (mut index, _) = filled(path);
        let batch = [message(10, "m-10", "c", None), message(7, "m-7", "c", None)];
        index.apply(&batch, 11).unwrap_err();
        assert_eq!(index.applied(), 9);
        assert_eq!(index.by_id("m-10").unwrap(), []);
        index.apply(&batch[..1], 11).unwrap();
        assert_eq!(index.reader().unwrap().applied(), 11);
    });
}

#[test]
fn a_reader_cannot_write_the_file() {
    let (_folder, path) = folder();
    let (index, _) = filled(Some(&path));
    let mut reader = index.reader().unwrap();
    reader
        .apply(&[message(10, "m-10", "c", None)], 10)
        .unwrap_err();
    assert_eq!(index.applied(), 9);
}

#[test]
fn readers_see_everything_applied_while_the_writer_goes_on() {
    on_both(|path| {
        let mut writer = Index::open(path, LINEAGE, 1).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let mut readers = Vec::new();
            for _ in 0..3 {
                let (reader, done) = (writer.reader().unwrap(), &done);
                readers.push(scope.spawn(move || {
                    let mut looks = 0_u64;
                    while !done.load(Ordering::Relaxed) || looks == 0 {
                        let applied = reader.applied();
                        let rows = reader.by_conversation("c", 0, usize::MAX).unwrap();
                        let seen = sequences(&rows);
                        assert!(seen.len() as u64 >= applied, "{} of {applied}", seen.len());
                        assert_eq!(seen.len() % 10, 0, "half a batch is visible");
                        assert!(seen.iter().copied().eq(1..=seen.len() as u64));
                        looks += 1;
                    }
                }));
            }
            for batch in 0..60 {
                let rows: Vec<_> = (1..=10)
                    .map(|n| message(batch * 10 + n, "m", "c", Some("t")))
                    .collect();
                writer.apply(&rows, batch * 10 + 10).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().unwrap();
            }
        });
    });
}
