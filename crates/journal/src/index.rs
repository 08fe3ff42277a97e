//! The look-up index: which messages bear an id, which mention a name, what became of them; in SQLite.
//!
//! It follows the journal and can be rebuilt from it, so it is never the truth and never on the way
//! to a receipt; whatever is wrong with its file, the answer is to begin again. It does not read the
//! journal itself.
//!
//! Shape: `entry` holds `(key, sequence)`, where `key` is a 64-bit hash of a text and of whether the
//! text is a message's own id or a name that it mentions (its conversation, correlation, cause, task).
//! The texts themselves are in the journal, which a look-up reads anyway: what is found here are
//! candidates, and whoever asks compares. Without texts a message costs a third of the disk and of the
//! time, and a name that is conversation, task and cause at once costs one row. `fact` holds what became of a message in
//! a place, as the sequence of the record that says so.

mod check;
mod file;
mod rows;

use crate::Error;
pub use check::{IndexCheck, WrongRows};
pub use rows::{Fact, Rows};

use file::{begin, begin_file, connect, is_unusable, resume};
use parking_lot::Mutex;
use rows::{Kind, key};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The keys are forgotten in this many parts, so that no transaction is long.
const SLICES: u64 = 256;

/// The index, or one more connection to it.
#[derive(Debug)]
pub struct Index {
    /// In memory all share one connection: SQLite's shared cache would make readers fail with
    /// `SQLITE_LOCKED`, which no timeout covers.
    connection: Arc<Mutex<Connection>>,
    path: Option<PathBuf>,
    applied: Arc<AtomicU64>,
    lineage: u64,
    forgotten: u64,
    sweep: Option<Sweep>,
}

/// How far forgetting has come.
#[derive(Clone, Copy, Debug)]
struct Sweep {
    before: u64,
    slice: u64,
}

/// What an existing file says of itself.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    applied: u64,
    forgotten: u64,
}

impl Index {
    /// Opens the index in `path`, or one in memory. An index of another lineage, epoch or schema, or
    /// one that cannot be read, is thrown away and begun again with `applied` 0.
    ///
    /// # Errors
    /// `Index` and `Io`, when the file can be neither used nor replaced.
    pub fn open(path: Option<&Path>, lineage: u64, epoch: u32) -> Result<Self, Error> {
        let afresh = Standing::default();
        let (connection, standing) = match path {
            None => {
                let connection = Connection::open_in_memory()?;
                begin(&connection, lineage, epoch)?;
                (connection, afresh)
            }
            Some(path) => match resume(path, lineage, epoch) {
                Ok(Some(found)) => found,
                Ok(None) => (begin_file(path, lineage, epoch)?, afresh),
                Err(error) if is_unusable(&error) => (begin_file(path, lineage, epoch)?, afresh),
                Err(error) => return Err(error.into()),
            },
        };
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            path: path.map(Path::to_owned),
            applied: Arc::new(AtomicU64::new(standing.applied)),
            lineage,
            forgotten: standing.forgotten,
            sweep: None,
        })
    }

    /// As [`Self::open`], but what is there is thrown away whatever it is.
    ///
    /// # Errors
    /// As there.
    pub fn begin_anew(path: &Path, lineage: u64, epoch: u32) -> Result<Self, Error> {
        drop(begin_file(path, lineage, epoch)?);
        Self::open(Some(path), lineage, epoch)
    }

    /// Another connection, for look-ups beside the writer. It sees each `apply` as a whole.
    ///
    /// # Errors
    /// `Index`, when the file cannot be opened.
    pub fn reader(&self) -> Result<Self, Error> {
        let connection = match &self.path {
            None => Arc::clone(&self.connection),
            Some(path) => {
                let connection = connect(path, OpenFlags::empty())?;
                connection.pragma_update(None, "query_only", true)?;
                Arc::new(Mutex::new(connection))
            }
        };
        Ok(Self {
            connection,
            path: self.path.clone(),
            applied: Arc::clone(&self.applied),
            lineage: self.lineage,
            forgotten: self.forgotten,
            sweep: None,
        })
    }

    /// Everything up to and including this sequence is in the index.
    ///
    /// Read it before a look-up, not after: a look-up may then see more than this, never less.
    pub fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// An empty batch for [`Self::apply`].
    #[must_use]
    pub fn rows(&self) -> Rows {
        Rows::new(self.lineage)
    }

    /// Adds rows, all about records after `applied`, and moves `applied`, in one transaction. The
    /// batch is empty afterwards, and keeps its memory.
    ///
    /// # Errors
    /// `Index`; then nothing was added. A damaged file is begun again at the next `open`.
    pub fn apply(&mut self, rows: &mut Rows, applied: u64) -> Result<(), Error> {
        let mut connection = self.connection.lock();
        if let Err(error) = rows.write(&mut connection, applied) {
            if is_unusable(&error) {
                // The damage may be far from what `open` reads, so leave word there; when even that
                // cannot be written, `open` will meet the damage itself.
                let _ = connection.execute("UPDATE meta SET schema = 0", []);
            }
            return Err(error.into());
        }
        self.applied.store(applied, Ordering::Release);
        Ok(())
    }

    /// Sequences of messages that may bear this id, ascending.
    ///
    /// # Errors
    /// `Index`.
    pub fn named(&self, id: &str) -> Result<Vec<u64>, Error> {
        self.find(Kind::Id, id, 0, usize::MAX)
    }

    /// Sequences of messages that may mention this text, ascending: those after `after`, at most
    /// `limit`.
    ///
    /// # Errors
    /// `Index`.
    pub fn mentioning(&self, text: &str, after: u64, limit: usize) -> Result<Vec<u64>, Error> {
        self.find(Kind::Mention, text, after, limit)
    }

    fn find(&self, kind: Kind, text: &str, after: u64, limit: usize) -> Result<Vec<u64>, Error> {
        let key = key(self.lineage, kind, text);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let connection = self.connection.lock();
        let mut statement = connection.prepare_cached(
            "SELECT sequence FROM entry WHERE key = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
        )?;
        let found = statement.query_map((key, integer(after), limit), |row| {
            row.get(0).map(i64::cast_unsigned)
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// What is known to have become of a message, in the order it happened.
    ///
    /// # Errors
    /// `Index`.
    pub fn facts(&self, message: u64) -> Result<Vec<Fact>, Error> {
        let connection = self.connection.lock();
        let mut statement = connection.prepare_cached(
            "SELECT place, record, kind FROM fact WHERE message = ?1 ORDER BY record, place",
        )?;
        let found = statement.query_map([integer(message)], |row| {
            Ok(Fact {
                message,
                place: row.get(0)?,
                record: row.get(1).map(i64::cast_unsigned)?,
                kind: row.get(2)?,
            })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Everything before this sequence has been removed.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Removes what is about messages before `before`, a part at each call; false when nothing is
    /// left to remove. What was begun for an earlier `before` is ended first.
    ///
    /// One removal walks the whole index once, so it is done when a good part of it can go.
    ///
    /// # Errors
    /// `Index`; the next call goes on from there.
    pub fn forget(&mut self, before: u64) -> Result<bool, Error> {
        if before <= self.forgotten {
            return Ok(false);
        }
        let begun = self.sweep.filter(|sweep| sweep.before <= before);
        let Sweep { before, slice } = begun.unwrap_or(Sweep { before, slice: 0 });
        // The first 8 bits of a key are its slice.
        let lowest = (i64::MIN).wrapping_add((slice << 56).cast_signed());
        let highest = lowest | ((1 << 56) - 1);
        let share = (before - self.forgotten) / SLICES * (slice + 1);
        let is_last = slice + 1 == SLICES;
        let facts_before = if is_last {
            before
        } else {
            self.forgotten + share
        };
        let mut connection = self.connection.lock();
        let transaction = connection.transaction()?;
        transaction
            .prepare_cached("DELETE FROM entry WHERE key BETWEEN ?1 AND ?2 AND sequence < ?3")?
            .execute((lowest, highest, integer(before)))?;
        transaction
            .prepare_cached("DELETE FROM fact WHERE message < ?1")?
            .execute([integer(facts_before)])?;
        if is_last {
            transaction.execute("UPDATE meta SET forgotten = ?1", [integer(before)])?;
        }
        transaction.commit()?;
        drop(connection);
        self.sweep = Some(Sweep {
            before,
            slice: slice + 1,
        });
        if is_last {
            self.forgotten = before;
            self.sweep = None;
        }
        Ok(!is_last)
    }
}

/// SQLite's integers are signed; no journal gets past half of the range.
fn integer(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
