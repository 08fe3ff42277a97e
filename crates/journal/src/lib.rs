//! The journal: an ordered log of bytes, durable before it is spoken of.
//!
//! It knows bytes and positions, never what an envelope is. One writer ([`Journal`]) and any number
//! of [`Reader`]s, which see durable records only. A commit is one write and one sync; after a write
//! or sync that failed, nothing is written again until a restart. The format is drawn byte by byte in
//! `docs/format.md`.
//!
//! Everything works above the small [`Disk`] seam, so that crash tests run this very code.
//!
//! ```
//! use interwire_journal::{Durability, Journal, MemoryDisk, Options};
//! use std::sync::Arc;
//! let options = Options { durability: Durability::Memory, ..Options::new(7) };
//! let mut journal = Journal::open(Arc::new(MemoryDisk::default()), options)?;
//! journal.append(1, &[b"hello ", b"world"]);
//! journal.commit()?;
//! let records = journal.reader().read(1, 10, 1 << 20)?;
//! assert_eq!(records[0].body, "hello world");
//! # Ok::<(), interwire_journal::Error>(())
//! ```

mod backup;
mod checkpoint;
mod copying;
mod cursor;
mod disk;
mod error;
mod filler;
pub mod frame;
mod index;
mod journal;
mod keys;
mod listing;
mod manifest;
mod reader;
mod recovery;
mod restore;
mod retention;
mod salvage;
mod segment;
mod shared;
mod sidecar;
mod verify;
mod zeros;

pub use backup::{Backup, BackupOptions, backup};
pub use checkpoint::{Checkpoint, CheckpointWriter, Checkpoints, Unusable};
pub use cursor::{Cursor, CursorFault};
pub use disk::{Disk, DiskFile, MemoryDisk, RealDisk};
pub use error::Error;
pub use filler::Filler;
pub use index::{Fact, Index, IndexCheck, Rows, WrongRows};
pub use journal::{Durability, Journal, Options, Syncer};
pub use keys::{KeyEntry, KeyReader, Keys};
pub use listing::{Identity, identify};
pub use reader::{Reader, Record, SegmentView};
pub use recovery::Recovery;
pub use restore::{Restored, restore};
pub use retention::{Dropped, Retention};
pub use salvage::{LOST, salvage};
pub use verify::{Eyes, Finding, Verified, verify};
