//! Whether an index holds exactly the rows that its records give, without changing it.
//!
//! Rows of the file and rows of the records are summed up in buckets of neighbouring records; where the
//! sums differ, the rows do. So neither side is looked up in the other, and both are read once, in
//! their own order.

use super::file::{BUSY_MAX, Heading, heading};
use super::rows::{Fact, Rows};
use crate::Error;
use rusqlite::{Connection, OpenFlags};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Records in one bucket.
const BUCKET_RECORDS: u64 = 256;

/// The sum of some rows; the same for the same rows in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    rows: u64,
    hash: u64,
}

impl Sum {
    fn add(&mut self, row: impl Hash) {
        let mut hasher = DefaultHasher::new();
        row.hash(&mut hasher);
        self.rows += 1;
        self.hash = self.hash.wrapping_add(hasher.finish());
    }
}

/// The rows about neighbouring records, on both sides.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Records that were seen.
    seen: u64,
    expected: Sum,
    found: Sum,
}

/// An index file, compared with records as they are shown.
#[derive(Debug)]
pub struct IndexCheck {
    first: u64,
    applied: u64,
    rows: Rows,
    buckets: HashMap<u64, Bucket>,
    /// Rows about records that the index says it does not know yet.
    ahead: u64,
}

/// Rows that are not what the records give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongRows {
    /// The first record of those they are about.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// How many there should be.
    pub expected: u64,
    /// How many there are.
    pub found: u64,
}

impl IndexCheck {
    /// Reads the index in `path` for records from `first` on, as of one moment, also beside its
    /// writer. The inner error says why it will be thrown away at the next start.
    ///
    /// # Errors
    /// `Index`, when it cannot be read; it may be damaged.
    pub fn read(
        path: &Path,
        (lineage, epoch): (u64, u32),
        first: u64,
    ) -> Result<Result<Self, &'static str>, Error> {
        let mut connection = open(path)?;
        // One transaction: everything as of one moment.
        let snapshot = connection.transaction()?;
        let Some(Heading { of, standing }) = heading(&snapshot)? else {
            return Ok(Err("it is no index that this build reads"));
        };
        if of != (lineage, epoch) {
            return Ok(Err("it is of another journal or of another epoch"));
        }
        let mut check = Self {
            first,
            applied: standing.applied,
            rows: Rows::new(lineage),
            buckets: HashMap::new(),
            ahead: 0,
        };
        let mut statement = snapshot.prepare("SELECT key, sequence FROM entry")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let entry: (i64, i64) = (row.get(0)?, row.get(1)?);
            check.found(entry.1.cast_unsigned(), entry);
        }
        let mut statement = snapshot.prepare("SELECT message, place, record, kind FROM fact")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let fact = Fact {
                message: row.get::<_, i64>(0)?.cast_unsigned(),
                place: row.get(1)?,
                record: row.get::<_, i64>(2)?.cast_unsigned(),
                kind: row.get(3)?,
            };
            if fact.message >= first {
                check.found(fact.record, fact);
            }
        }
        Ok(Ok(check))
    }

    fn found(&mut self, sequence: u64, row: impl Hash) {
        if sequence > self.applied {
            self.ahead += 1;
        } else if let Some(at) = sequence.checked_sub(self.first) {
            let bucket = self.buckets.entry(at / BUCKET_RECORDS).or_default();
            bucket.found.add(row);
        }
    }

    /// The last record that the index says it knows.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Where to put the rows that the next record gives; then call [`Self::seen`].
    pub fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    /// The rows of record `sequence` are all there.
    pub fn seen(&mut self, sequence: u64) {
        let (mut entries, mut facts) = self.rows.take();
        if let Some(at) = sequence
            .checked_sub(self.first)
            .filter(|_| sequence <= self.applied)
        {
            entries.sort_unstable();
            entries.dedup();
            facts.sort_unstable();
            facts.dedup();
            let bucket = self.buckets.entry(at / BUCKET_RECORDS).or_default();
            bucket.seen += 1;
            for entry in &entries {
                bucket.expected.add(*entry);
            }
            // Facts about messages that are no longer kept may be there or not.
            for fact in facts.iter().filter(|fact| fact.message >= self.first) {
                bucket.expected.add(*fact);
            }
        }
        self.rows.give_back(entries, facts);
    }

    /// The rows that differ, in order. Where a record was not seen, nothing is said about its
    /// neighbours.
    #[must_use]
    pub fn wrong(&self) -> Vec<WrongRows> {
        let differ = self.buckets.iter().filter_map(|(at, bucket)| {
            let from = self.first.saturating_add(at * BUCKET_RECORDS);
            let to = from.saturating_add(BUCKET_RECORDS - 1).min(self.applied);
            let is_wrong =
                bucket.seen == (to - from).saturating_add(1) && bucket.expected != bucket.found;
            is_wrong.then_some(WrongRows {
                from,
                to,
                expected: bucket.expected.rows,
                found: bucket.found.rows,
            })
        });
        let mut wrong: Vec<_> = differ.collect();
        wrong.sort_unstable_by_key(|rows| rows.from);
        if self.ahead > 0 {
            wrong.push(WrongRows {
                from: self.applied + 1,
                to: u64::MAX,
                expected: 0,
                found: self.ahead,
            });
        }
        wrong
    }
}

/// A connection that changes nothing. Without a log beside it a file is read as it is, because
/// SQLite would make the log's files to read it otherwise.
fn open(path: &Path) -> Result<Connection, Error> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // Also an empty one: somebody has the file open and is about to write.
    let has_log = Path::new(&log).exists();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = if has_log {
        Connection::open_with_flags(path, flags)?
    } else {
        let uri = uri(path);
        Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
    };
    connection.busy_timeout(BUSY_MAX)?;
    Ok(connection)
}

fn uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = String::from("file://");
    for byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
