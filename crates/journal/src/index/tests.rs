use super::{Fact, Index};
use crate::Error;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const LINEAGE: u64 = 0xfeed_beef_dead_cafe;

/// One message: its sequence, its id, what it mentions.
type Line<'t> = (u64, &'t str, &'t [&'t str]);

fn add(index: &mut Index, lines: &[Line<'_>], facts: &[Fact], applied: u64) -> Result<(), Error> {
    let mut rows = index.rows();
    for (sequence, id, mentions) in lines {
        rows.id(*sequence, id);
        for text in *mentions {
            rows.mention(*sequence, text);
        }
    }
    facts.iter().for_each(|fact| rows.fact(*fact));
    index.apply(&mut rows, applied)
}

fn fact(message: u64, place: u32, record: u64) -> Fact {
    Fact {
        message,
        place,
        record,
        kind: 1,
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.sqlite");
    (folder, path)
}

fn filled(path: Option<&Path>) -> Index {
    let mut index = Index::open(path, LINEAGE, 1).unwrap();
    let lines: [Line<'_>; 4] = [
        (1, "m-1", &["c-1", "t-1"]),
        (3, "m-2", &["c-2"]),
        (4, "m-1", &["c-1"]),
        (7, "m-3", &["c-1", "t-1", "m-1"]),
    ];
    add(&mut index, &lines[..2], &[fact(1, 5, 2)], 3).unwrap();
    add(
        &mut index,
        &lines[2..],
        &[fact(1, 4, 8), fact(1, 5, 6), fact(4, 5, 6)],
        9,
    )
    .unwrap();
    index
}

/// The same on disk and in memory.
fn on_both(check: impl Fn(Option<&Path>)) {
    check(None);
    let (_folder, path) = folder();
    check(Some(&path));
}

#[test]
fn an_id_finds_the_messages_of_all_senders() {
    on_both(|path| {
        let index = filled(path);
        assert_eq!(index.named("m-1").unwrap(), [1, 4]);
        assert_eq!(index.named("m-4").unwrap(), []);
    });
}

#[test]
fn mentions_are_read_page_by_page_in_journal_order() {
    on_both(|path| {
        let index = filled(path);
        let page = |after, limit| index.mentioning("c-1", after, limit).unwrap();
        assert_eq!(page(0, 2), [1, 4]);
        assert_eq!(page(4, 2), [7]);
        assert_eq!(page(7, 2), []);
        assert_eq!(page(0, usize::MAX), [1, 4, 7]);
        assert_eq!(page(u64::MAX, 2), []);
        assert_eq!(page(0, 0), []);
        assert_eq!(index.mentioning("t-1", 1, 10).unwrap(), [7]);
    });
}

#[test]
fn an_id_and_a_mention_of_one_name_are_two_things() {
    on_both(|path| {
        let index = filled(path);
        assert_eq!(index.named("c-1").unwrap(), []);
        assert_eq!(index.mentioning("m-1", 0, 9).unwrap(), [7]);
    });
}

#[test]
fn a_text_that_a_message_mentions_twice_is_found_once() {
    on_both(|path| {
        let mut index = Index::open(path, LINEAGE, 1).unwrap();
        add(&mut index, &[(1, "x", &["x", "x"])], &[], 1).unwrap();
        assert_eq!(index.named("x").unwrap(), [1]);
        assert_eq!(index.mentioning("x", 0, 9).unwrap(), [1]);
    });
}

#[test]
fn texts_are_told_apart_byte_by_byte() {
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
            "'; DROP TABLE entry; --",
        ];
        let lines: Vec<Line<'_>> = (1..)
            .zip(ids)
            .map(|(sequence, id)| (sequence, id, &["c"][..]))
            .collect();
        add(&mut index, &lines, &[], 99).unwrap();
        for (sequence, id, _) in lines {
            assert_eq!(index.named(id).unwrap(), [sequence], "{id:?}");
        }
    });
}

#[test]
fn facts_of_a_message_come_in_the_order_they_happened() {
    on_both(|path| {
        let index = filled(path);
        assert_eq!(
            index.facts(1).unwrap(),
            [fact(1, 5, 2), fact(1, 5, 6), fact(1, 4, 8)]
        );
        assert_eq!(index.facts(4).unwrap(), [fact(4, 5, 6)]);
        assert_eq!(index.facts(7).unwrap(), []);
    });
}

#[test]
fn what_is_forgotten_is_gone_and_the_rest_stays() {
    on_both(|path| {
        let mut index = Index::open(path, LINEAGE, 1).unwrap();
        let ids: Vec<String> = (0..600).map(|n| format!("m-{n}")).collect();
        let lines: Vec<Line<'_>> = (1..)
            .zip(&ids)
            .map(|(sequence, id)| (sequence, id.as_str(), &["c"][..]))
            .collect();
        let facts: Vec<Fact> = (1..=600).map(|message| fact(message, 1, 601)).collect();
        add(&mut index, &lines, &facts, 601).unwrap();
        while index.forget(400).unwrap() {}
        assert_eq!(index.forgotten(), 400);
        assert!(!index.forget(400).unwrap() && !index.forget(1).unwrap());
        assert!(
            index
                .mentioning("c", 0, 999)
                .unwrap()
                .into_iter()
                .eq(400..=600)
        );
        for (sequence, id, _) in lines {
            let is_kept = sequence >= 400;
            assert_eq!(index.named(id).unwrap().len(), usize::from(is_kept));
            assert_eq!(index.facts(sequence).unwrap().len(), usize::from(is_kept));
        }
    });
}

#[test]
fn forgetting_that_was_interrupted_begins_again() {
    let (_folder, path) = folder();
    let mut index = filled(Some(&path));
    for _ in 0..100 {
        assert!(index.forget(4).unwrap());
    }
    drop(index);
    let mut index = Index::open(Some(&path), LINEAGE, 1).unwrap();
    assert_eq!(index.forgotten(), 0);
    while index.forget(4).unwrap() {}
    drop(index);
    let index = Index::open(Some(&path), LINEAGE, 1).unwrap();
    assert_eq!(index.forgotten(), 4);
    assert_eq!(index.mentioning("c-1", 0, 9).unwrap(), [4, 7]);
    assert_eq!(index.facts(1).unwrap(), []);
}

#[test]
fn a_closed_index_is_resumed_where_it_was() {
    let (_folder, path) = folder();
    drop(filled(Some(&path)));
    let index = Index::open(Some(&path), LINEAGE, 1).unwrap();
    assert_eq!(index.applied(), 9);
    assert_eq!(index.named("m-1").unwrap(), [1, 4]);
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
        (LINEAGE, 1, |file| file.execute("DROP TABLE entry", [])),
    ];
    for (lineage, epoch, spoil) in cases {
        let (_folder, path) = folder();
        drop(filled(Some(&path)));
        spoil(&Connection::open(&path).unwrap()).unwrap();
        let mut index = Index::open(Some(&path), lineage, epoch).unwrap();
        assert_eq!(index.applied(), 0);
        assert_eq!(index.named("m-1").unwrap(), []);
        add(&mut index, &[(1, "m-1", &["c"])], &[], 1).unwrap();
        assert_eq!(index.reader().unwrap().named("m-1").unwrap(), [1]);
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
    let error = add(&mut index, &[(10, "m-9", &["c-9"])], &[], 10).unwrap_err();
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
        let mut index = filled(path);
        // The second is in the index already.
        let batch: [Line<'_>; 2] = [(10, "m-10", &["c"]), (7, "m-3", &[])];
        add(&mut index, &batch, &[], 11).unwrap_err();
        assert_eq!(index.applied(), 9);
        assert_eq!(index.named("m-10").unwrap(), []);
        add(&mut index, &batch[..1], &[], 11).unwrap();
        assert_eq!(index.reader().unwrap().applied(), 11);
    });
}

#[test]
fn a_reader_cannot_write_the_file() {
    let (_folder, path) = folder();
    let index = filled(Some(&path));
    let mut reader = index.reader().unwrap();
    add(&mut reader, &[(10, "m-10", &["c"])], &[], 10).unwrap_err();
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
                        let seen = reader.mentioning("c", 0, usize::MAX).unwrap();
                        assert!(seen.len() as u64 >= applied, "{} of {applied}", seen.len());
                        assert_eq!(seen.len() % 10, 0, "half a batch is visible");
                        assert!(seen.iter().copied().eq(1..=seen.len() as u64));
                        looks += 1;
                    }
                }));
            }
            for batch in 0..60 {
                let lines: Vec<Line<'_>> = (1..=10)
                    .map(|n| (batch * 10 + n, "m", &["c"][..]))
                    .collect();
                add(&mut writer, &lines, &[], batch * 10 + 10).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().unwrap();
            }
        });
    });
}
