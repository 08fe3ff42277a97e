//! The look-up index: id, conversation, task → places in the journal, in SQLite.
//!
//! It follows the journal and can be rebuilt from it, so it is never the truth and never on the way
//! to a receipt; whatever is wrong with its file, the answer is to begin again. It does not read the
//! journal itself and knows nothing of retention.
//!
//! Shape: `message` holds one row per message in journal order, so its inserts only append. `place`
//! holds `(key, sequence)` for each of the three look-ups, where `key` is a 64-bit hash of the kind
//! and the text: two B-trees instead of four, a third less disk and a third more rows per second
//! than keys of text. A look-up compares the text in `message`, so two texts with one hash cost time
//! and never a wrong answer.

use crate::Error;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Raised when the tables change; an older index is then begun again.
const SCHEMA: i64 = 1;

/// 32 MiB: a batch touches pages all over `place`, and a page that is touched again before the log is
/// folded into the file is written there once. A quarter more rows per second than SQLite's 1,000.
const LOG_PAGES: i64 = 8_000;

/// Only start-up and shut-down of another connection lock a WAL database; both are short.
const BUSY_MAX: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE meta (schema INTEGER, lineage INTEGER, epoch INTEGER, hash INTEGER, applied INTEGER);
    CREATE TABLE message (
        sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, sender TEXT NOT NULL,
        conversation TEXT, task TEXT, at_ms INTEGER NOT NULL);
    CREATE TABLE place (
        key INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (key, sequence)) WITHOUT ROWID;
";

/// One line of the look-up index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRow {
    /// The message's place in the journal.
    pub sequence: u64,
    /// Its id, unique per sender at best.
    pub id: String,
    /// Who sent it.
    pub sender: String,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    /// The task it belongs to.
    pub task: Option<String>,
    /// When it was accepted, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The index, or one more connection to it.
#[derive(Debug)]
pub struct Index {
    /// In memory all share one connection: SQLite's shared cache would make readers fail with
    /// `SQLITE_LOCKED`, which no timeout covers.
    connection: Arc<Mutex<Connection>>,
    path: Option<PathBuf>,
    applied: Arc<AtomicU64>,
    lineage: u64,
}

/// What a text is looked up as.
#[derive(Clone, Copy)]
enum Kind {
    Id,
    Conversation,
    Task,
}

impl Index {
    /// Opens the index in `path`, or one in memory. An index of another lineage or epoch, or one
    /// that cannot be read, is thrown away and begun again with `applied` 0.
    ///
    /// # Errors
    /// `Index` and `Io`, when the file can be neither used nor replaced.
    pub fn open(path: Option<&Path>, lineage: u64, epoch: u32) -> Result<Self, Error> {
        let (connection, applied) = match path {
            None => {
                let connection = Connection::open_in_memory()?;
                begin(&connection, lineage, epoch)?;
                (connection, 0)
            }
            Some(path) => match resume(path, lineage, epoch) {
                Ok(Some(found)) => found,
                Ok(None) => (begin_file(path, lineage, epoch)?, 0),
                Err(error) if is_unusable(&error) => (begin_file(path, lineage, epoch)?, 0),
                Err(error) => return Err(error.into()),
            },
        };
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            path: path.map(Path::to_owned),
            applied: Arc::new(AtomicU64::new(applied)),
            lineage,
        })
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
        })
    }

    /// Everything up to and including this sequence is in the index.
    ///
    /// Read it before a look-up, not after: a look-up may then see more than this, never less.
    pub fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Adds rows, in journal order and none after `applied`, and moves `applied`, in one transaction.
    ///
    /// # Errors
    /// `Index`; then nothing was added. A damaged file is begun again at the next `open`.
    pub fn apply(&mut self, rows: &[IndexRow], applied: u64) -> Result<(), Error> {
        let mut connection = self.connection.lock();
        if let Err(error) = add(&mut connection, self.lineage, rows, applied) {
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

    /// All messages with this id, of all senders, in journal order.
    ///
    /// # Errors
    /// `Index`.
    pub fn by_id(&self, id: &str) -> Result<Vec<IndexRow>, Error> {
        self.find(Kind::Id, id, 0, usize::MAX)
    }

    /// The messages of a conversation in journal order, those after `after`, at most `limit`.
    ///
    /// # Errors
    /// `Index`.
    pub fn by_conversation(
        &self,
        id: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<IndexRow>, Error> {
        self.find(Kind::Conversation, id, after, limit)
    }

    /// The messages of a task in journal order, those after `after`, at most `limit`.
    ///
    /// # Errors
    /// `Index`.
    pub fn by_task(&self, id: &str, after: u64, limit: usize) -> Result<Vec<IndexRow>, Error> {
        self.find(Kind::Task, id, after, limit)
    }

    fn find(
        &self,
        kind: Kind,
        text: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<IndexRow>, Error> {
        let column = match kind {
            Kind::Id => "id",
            Kind::Conversation => "conversation",
            Kind::Task => "task",
        };
        // CROSS JOIN keeps SQLite from walking `message` first.
        let query = format!(
            "SELECT message.* FROM place CROSS JOIN message USING (sequence)
             WHERE place.key = ?1 AND place.sequence > ?2 AND message.{column} = ?3
             ORDER BY place.sequence LIMIT ?4"
        );
        let key = key(self.lineage, kind, text);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let connection = self.connection.lock();
        let mut statement = connection.prepare_cached(&query)?;
        let rows = statement.query_map((key, integer(after), text, limit), row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn row(row: &Row<'_>) -> rusqlite::Result<IndexRow> {
    let sequence: i64 = row.get(0)?;
    Ok(IndexRow {
        sequence: sequence.cast_unsigned(),
        id: row.get(1)?,
        sender: row.get(2)?,
        conversation: row.get(3)?,
        task: row.get(4)?,
        at_ms: row.get(5)?,
    })
}

fn add(
    connection: &mut Connection,
    lineage: u64,
    rows: &[IndexRow],
    applied: u64,
) -> rusqlite::Result<()> {
    let mut places = Vec::with_capacity(rows.len() * 3);
    let transaction = connection.transaction()?;
    {
        let mut insert =
            transaction.prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for row in rows {
            let sequence = integer(row.sequence);
            insert.execute((
                sequence,
                &row.id,
                &row.sender,
                &row.conversation,
                &row.task,
                row.at_ms,
            ))?;
            places.push((key(lineage, Kind::Id, &row.id), sequence));
            if let Some(conversation) = &row.conversation {
                places.push((key(lineage, Kind::Conversation, conversation), sequence));
            }
            if let Some(task) = &row.task {
                places.push((key(lineage, Kind::Task, task), sequence));
            }
        }
        // In key order a batch walks the tree once, and touches each page once.
        places.sort_unstable();
        let mut insert = transaction.prepare_cached("INSERT INTO place VALUES (?1, ?2)")?;
        for place in places {
            insert.execute(place)?;
        }
        transaction
            .prepare_cached("UPDATE meta SET applied = ?1")?
            .execute([integer(applied)])?;
    }
    transaction.commit()
}

/// The hash behind a look-up. The lineage keeps senders from choosing texts that collide. `std` may
/// change the function with a compiler; `meta.hash` notices, and the index is begun again.
fn key(lineage: u64, kind: Kind, text: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(lineage);
    hasher.write_u8(match kind {
        Kind::Id => 1,
        Kind::Conversation => 2,
        Kind::Task => 3,
    });
    hasher.write(text.as_bytes());
    hasher.finish().cast_signed()
}

/// SQLite's integers are signed; no journal gets past half of the range.
fn integer(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

fn connect(path: &Path, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_MAX)?;
    Ok(connection)
}

fn connect_writer(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    Ok(connection)
}

/// The connection and `applied`, when the file holds the index of this journal.
fn resume(path: &Path, lineage: u64, epoch: u32) -> rusqlite::Result<Option<(Connection, u64)>> {
    let connection = connect_writer(path)?;
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'message', 'place')";
    if connection.query_row(tables, [], |row| row.get::<_, i64>(0))? != 3 {
        return Ok(None);
    }
    let expected = (
        SCHEMA,
        lineage.cast_signed(),
        epoch,
        key(lineage, Kind::Id, ""),
    );
    let (found, applied) = connection.query_row("SELECT * FROM meta", [], |row| {
        let found = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok((found, row.get::<_, i64>(4)?))
    })?;
    Ok((found == expected).then_some((connection, applied.cast_unsigned())))
}

fn begin_file(path: &Path, lineage: u64, epoch: u32) -> Result<Connection, Error> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    let connection = connect_writer(path)?;
    begin(&connection, lineage, epoch)?;
    Ok(connection)
}

fn begin(connection: &Connection, lineage: u64, epoch: u32) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.execute(
        "INSERT INTO meta VALUES (?1, ?2, ?3, ?4, 0)",
        (
            SCHEMA,
            lineage.cast_signed(),
            epoch,
            key(lineage, Kind::Id, ""),
        ),
    )?;
    transaction.commit()
}

/// Whether the file is no index of ours, or a damaged one; not when the system stands in the way.
fn is_unusable(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown
        ),
        rusqlite::Error::QueryReturnedNoRows
        | rusqlite::Error::InvalidColumnIndex(_)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::FromSqlConversionFailure(..) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
