//! What can go wrong in storage. Ours to fix, never shown to peers as it is.

use std::io;

/// A storage error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk answered with an error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Bytes that were once durable are not what was written. Starting would lose records silently,
    /// so nothing starts; `salvage` copies what can still be read.
    #[error("segment {segment} is damaged at byte {offset}: {what}")]
    Corrupt {
        /// The segment's file name.
        segment: String,
        /// Where in the file.
        offset: u64,
        /// What was expected.
        what: &'static str,
    },
    /// A file of a format this version does not know.
    #[error(
        "{file} has format version {version}; this build reads version {}",
        crate::manifest::FORMAT_VERSION
    )]
    UnknownFormat {
        /// The file's name.
        file: String,
        /// Its version.
        version: u16,
    },
    /// Records that were dropped; the oldest kept one is `first`.
    #[error("expected a record from {first} on; older ones were dropped")]
    Expired {
        /// The first kept sequence.
        first: u64,
    },
    /// A folder that cannot be used for this; says what it is instead.
    #[error("{0}")]
    Unfit(&'static str),
    /// A checkpoint that is needed cannot be used.
    #[error("{0}")]
    Unusable(#[from] crate::Unusable),
    /// A file where an empty folder was expected.
    #[error("expected an empty folder, found {0}")]
    Occupied(String),
    /// An earlier write or sync failed. What the disk holds is unknown, so a retry could lie; only a
    /// restart, which reads it back, clears this.
    #[error("an earlier write or sync failed; restart to continue")]
    Poisoned,
    /// The look-up index.
    #[error("the look-up index: {0}")]
    Index(#[from] rusqlite::Error),
}

impl Error {
    pub(crate) fn corrupt(segment: &str, offset: u64, what: &'static str) -> Self {
        Self::Corrupt {
            segment: segment.to_owned(),
            offset,
            what,
        }
    }
}
