//! The index's file: its tables, opening it, and telling a damaged one.

use super::rows::{Kind, key};
use super::{Standing, integer};
use crate::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

/// Raised when the tables or the meaning of a key change; an older index is then begun again.
const SCHEMA: i64 = 2;

/// 32 MiB: a batch touches pages all over `entry`, and a page that is touched again before the log is
/// folded into the file is written there once. A quarter more rows per second than SQLite's 1,000.
const LOG_PAGES: i64 = 8_000;

/// Only start-up and shut-down of another connection lock a WAL database; both are short.
pub(super) const BUSY_MAX: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE meta (
        schema INTEGER, lineage INTEGER, epoch INTEGER, hash INTEGER, applied INTEGER,
        forgotten INTEGER);
    CREATE TABLE entry (
        key INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (key, sequence)) WITHOUT ROWID;
    CREATE TABLE fact (
        message INTEGER NOT NULL, place INTEGER NOT NULL, record INTEGER NOT NULL,
        kind INTEGER NOT NULL, PRIMARY KEY (message, place, record)) WITHOUT ROWID;
";

pub(super) fn connect(path: &Path, more: OpenFlags) -> rusqlite::Result<Connection> {
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

/// The connection and where it stands, when the file holds the index of this journal.
pub(super) fn resume(
    path: &Path,
    lineage: u64,
    epoch: u32,
) -> rusqlite::Result<Option<(Connection, Standing)>> {
    let connection = connect_writer(path)?;
    let found = heading(&connection)?.filter(|found| found.of == (lineage, epoch));
    Ok(found.map(|found| (connection, found.standing)))
}

/// What a file says of itself.
pub(super) struct Heading {
    /// Lineage and epoch of its journal.
    pub of: (u64, u32),
    pub standing: Standing,
}

/// What the file says of itself, when this build can read it and hashes as it does.
pub(super) fn heading(connection: &Connection) -> rusqlite::Result<Option<Heading>> {
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'entry', 'fact')";
    if connection.query_row(tables, [], |row| row.get::<_, i64>(0))? != 3 {
        return Ok(None);
    }
    connection.query_row("SELECT * FROM meta", [], |row| {
        let of: (i64, u32) = (row.get(1)?, row.get(2)?);
        let is_same_hash = row.get::<_, i64>(3)? == key(of.0.cast_unsigned(), Kind::Id, "");
        if row.get::<_, i64>(0)? != SCHEMA || !is_same_hash {
            return Ok(None);
        }
        Ok(Some(Heading {
            of: (of.0.cast_unsigned(), of.1),
            standing: Standing {
                applied: row.get(4).map(i64::cast_unsigned)?,
                forgotten: row.get(5).map(i64::cast_unsigned)?,
            },
        }))
    })
}

pub(super) fn begin_file(path: &Path, lineage: u64, epoch: u32) -> Result<Connection, Error> {
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

pub(super) fn begin(connection: &Connection, lineage: u64, epoch: u32) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.execute(
        "INSERT INTO meta VALUES (?1, ?2, ?3, ?4, ?5, 0)",
        (
            SCHEMA,
            lineage.cast_signed(),
            epoch,
            key(lineage, Kind::Id, ""),
            integer(0),
        ),
    )?;
    transaction.commit()
}

/// Whether the file is no index of ours, or a damaged one; not when the system stands in the way.
pub(super) fn is_unusable(error: &rusqlite::Error) -> bool {
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
