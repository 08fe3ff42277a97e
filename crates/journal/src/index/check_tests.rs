use super::IndexCheck;
use crate::{Fact, Index, Rows};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const OF: (u64, u32) = (0xfeed_beef_dead_cafe, 3);
const LAST: u64 = 2_000;

/// What the record `sequence` gives: most are messages, some say what became of one.
fn note(rows: &mut Rows, sequence: u64) {
    if sequence.is_multiple_of(5) {
        for back in [1, 2, 700] {
            rows.fact(Fact {
                message: sequence.saturating_sub(back),
                place: 7,
                record: sequence,
                kind: 1,
            });
        }
        return;
    }
    rows.id(sequence, &format!("message-{sequence}"));
    rows.mention(sequence, "a conversation");
    rows.mention(sequence, &format!("message-{}", sequence / 2));
    rows.mention(sequence, "a conversation");
}

fn made() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index #1 50%.sqlite");
    let mut index = Index::open(Some(&path), OF.0, OF.1).unwrap();
    let mut rows = index.rows();
    for sequence in 1..=LAST {
        note(&mut rows, sequence);
        if sequence.is_multiple_of(333) || sequence == LAST {
            index.apply(&mut rows, sequence).unwrap();
        }
    }
    drop(index);
    (folder, path)
}

/// The first records of the buckets whose rows differ, when `records` are shown.
fn wrong(path: &Path, first: u64, records: impl Iterator<Item = u64>) -> Vec<(u64, u64, u64)> {
    let mut check = IndexCheck::read(path, OF, first).unwrap().unwrap();
    for sequence in records {
        note(check.rows(), sequence);
        check.seen(sequence);
    }
    let wrong = check.wrong();
    wrong
        .iter()
        .map(|rows| (rows.from, rows.expected, rows.found))
        .collect()
}

fn change(path: &Path, statement: &str) {
    let connection = Connection::open(path).unwrap();
    let changed = connection.execute(statement, []).unwrap();
    assert_eq!(changed, 1, "{statement}");
}

#[test]
fn an_index_of_these_records_is_right_wherever_they_begin() {
    let (folder, path) = made();
    assert_eq!(wrong(&path, 1, 1..=LAST), []);
    // Its rows about what was dropped may be there, and records behind it may be.
    for first in [2, 255, 256, 257, 258, 1_999, 2_000, 2_001] {
        assert_eq!(wrong(&path, first, first..=LAST + 50), [], "from {first}");
    }
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 1, "looking leaves no files behind");
}

#[test]
fn a_row_that_is_missing_added_or_changed_is_found_near_its_record() {
    for (statement, from, expected, found) in [
        (
            "DELETE FROM entry WHERE sequence = 2 AND key = (SELECT max(key) FROM entry WHERE sequence = 2)",
            1,
            -1,
            0,
        ),
        (
            "DELETE FROM fact WHERE record = 1500 AND message = 1499",
            1_281,
            -1,
            0,
        ),
        ("INSERT INTO entry VALUES (12345, 700)", 513, 0, 1),
        ("INSERT INTO fact VALUES (640, 9, 700, 2)", 513, 0, 1),
        (
            "UPDATE entry SET key = 77 WHERE sequence = 777 AND key = (SELECT min(key) FROM entry WHERE sequence = 777)",
            769,
            0,
            0,
        ),
        (
            "UPDATE fact SET kind = 9 WHERE record = 2000 AND message = 1999",
            1_793,
            0,
            0,
        ),
        ("INSERT INTO entry VALUES (12345, 2001)", 2_001, 0, 1),
        ("INSERT INTO entry VALUES (12345, -5)", 2_001, 0, 1),
    ] {
        let (_folder, path) = made();
        change(&path, statement);
        let differ = wrong(&path, 1, 1..=LAST);
        assert_eq!(differ.len(), 1, "{statement}: {differ:?}");
        assert_eq!(differ[0].0, from, "{statement}");
        let more = i64::try_from(differ[0].2).unwrap() - i64::try_from(differ[0].1).unwrap();
        assert_eq!(more, expected + found, "{statement}");
    }
}

#[test]
fn nothing_is_said_of_the_neighbours_of_a_record_that_cannot_be_shown() {
    let (_folder, path) = made();
    let shown = |sequence: &u64| *sequence != 700;
    assert_eq!(wrong(&path, 1, (1..=LAST).filter(shown)), []);
    change(&path, "INSERT INTO entry VALUES (12345, 1700)");
    let differ = wrong(&path, 1, (1..=LAST).filter(shown));
    assert_eq!(differ[0].0, 1_537);
}

#[test]
fn facts_about_messages_that_are_gone_may_be_gone() {
    let (_folder, path) = made();
    let mut index = Index::open(Some(&path), OF.0, OF.1).unwrap();
    while index.forget(1_000).unwrap() {}
    drop(index);
    assert_eq!(wrong(&path, 1_000, 1_000..=LAST), []);
    assert!(!wrong(&path, 1, 1..=LAST).is_empty());
}

#[test]
fn one_that_is_being_written_is_looked_at_as_of_one_moment() {
    let (_folder, path) = made();
    let mut index = Index::open(Some(&path), OF.0, OF.1).unwrap();
    let mut rows = index.rows();
    for sequence in LAST + 1..LAST + 40 {
        note(&mut rows, sequence);
        index.apply(&mut rows, sequence).unwrap();
        assert_eq!(wrong(&path, 1, 1..=sequence), []);
        assert_eq!(wrong(&path, 1, 1..=LAST + 100), []);
    }
}

#[test]
fn an_index_that_the_next_start_throws_away_is_told_from_a_damaged_one() {
    let (_folder, path) = made();
    let mut reasons = Vec::new();
    for of in [(OF.0, OF.1 + 1), (OF.0 + 1, OF.1)] {
        reasons.push(IndexCheck::read(&path, of, 1).unwrap().unwrap_err());
    }
    change(&path, "UPDATE meta SET schema = 1");
    reasons.push(IndexCheck::read(&path, OF, 1).unwrap().unwrap_err());
    assert_ne!(reasons[0], reasons[2]);
    std::fs::write(&path, b"no database at all, and long enough to be told").unwrap();
    IndexCheck::read(&path, OF, 1).unwrap_err();
}

#[test]
fn begun_anew_nothing_of_the_old_one_is_left() {
    let (_folder, path) = made();
    let mut index = Index::begin_anew(&path, OF.0, OF.1).unwrap();
    assert_eq!(index.applied(), 0);
    assert_eq!(index.named("message-3").unwrap(), []);
    let mut rows = index.rows();
    (1..=LAST).for_each(|sequence| note(&mut rows, sequence));
    index.apply(&mut rows, LAST).unwrap();
    drop(index);
    assert_eq!(wrong(&path, 1, 1..=LAST), []);
}
