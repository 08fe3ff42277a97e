//! The state as bytes, so that a start need not fold the whole journal.
//!
//! A snapshot holds everything that is a fold over records, and nothing else: no leases, no live
//! channels. Restoring one and applying the records after it gives the state that all records give.
//! Equal states give equal bytes.
//!
//! ```text
//! 3 | for each part: tag u8 | version u8 | length u64 | bytes
//! ```
//!
//! The parts up to the directory are always there, in their order. Those after it are found by their
//! tags, which ascend; one that is not there is empty.
//!
//! To add a part: implement [`Part`] beside the state it keeps, with the next free tag, and name it
//! after the others in [`Exchange::snapshot`] and [`Exchange::restore`]. A change to a part's bytes
//! raises its version. A build that meets a part or a version it does not know does not restore,
//! and the caller begins at an older snapshot or at the first record. Where the first records were
//! dropped nothing else stands for them: a version that was released stays readable.

mod flow;
mod subscriptions;
mod tasks;

use crate::directory::Directory;
use crate::exchange::Exchange;
use crate::settings::Settings;
use protocol::wire::{Reader, WireError};
use std::fmt;

/// The version of the frame around the parts.
const VERSION: u8 = 3;

/// The version in which nothing came after the directory. It is still read.
const WITH_DIRECTORY: u8 = 2;

/// The version before there was a directory. It is still read.
const WITHOUT_DIRECTORY: u8 = 1;

/// One part of the state.
pub(crate) trait Part: Sized {
    /// What it is called in bytes; never used for anything else again.
    const TAG: u8;
    /// What it is called in errors.
    const NAME: &'static str;
    /// Raised when its bytes change.
    const VERSION: u8;
    /// Appends its bytes; equal states give equal bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads all of it back, whatever the bytes; what it keeps from now on is bounded by `settings`.
    fn decode(reader: &mut Reader<'_>, settings: &Settings) -> Result<Self, WireError>;
}

/// Why a snapshot cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotError {
    /// The part that cannot be read.
    pub part: &'static str,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the snapshot's {}: {}", self.part, self.what)
    }
}

impl std::error::Error for SnapshotError {}

impl Exchange {
    /// The state as bytes. Take it from an exchange that records were applied to and nothing else:
    /// what was handed out is in there as waiting.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put(&mut out, &self.dedupe);
        put(&mut out, &self.flow);
        put(&mut out, &self.tasks);
        put(&mut out, &self.places);
        put(&mut out, &self.subscriptions);
        put(&mut out, &self.loop_guard);
        put(&mut out, &self.directory);
        put(&mut out, &self.claims);
        out
    }

    /// The exchange that [`Self::snapshot`] was taken of.
    ///
    /// # Errors
    /// Names the part that is damaged or of another version.
    pub fn restore(settings: Settings, bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut reader = Reader::new(bytes);
        let frame = |WireError(what)| SnapshotError {
            part: "frame",
            what,
        };
        let version = reader.byte().map_err(frame)?;
        if ![VERSION, WITH_DIRECTORY, WITHOUT_DIRECTORY].contains(&version) {
            return Err(frame(WireError("expected version 1, 2 or 3")));
        }
        let exchange = Self {
            dedupe: get(&mut reader, &settings)?,
            flow: get(&mut reader, &settings)?,
            tasks: get(&mut reader, &settings)?,
            places: get(&mut reader, &settings)?,
            subscriptions: get(&mut reader, &settings)?,
            loop_guard: get(&mut reader, &settings)?,
            directory: match version {
                WITHOUT_DIRECTORY => Directory::default(),
                _ => get(&mut reader, &settings)?,
            },
            claims: get_if_there(&mut reader, &settings)?,
            ..Self::new(settings)
        };
        reader.end().map_err(frame)?;
        exchange.check_subscriptions()?;
        Ok(exchange)
    }
}

fn put<P: Part>(out: &mut Vec<u8>, part: &P) {
    out.extend_from_slice(&[P::TAG, P::VERSION]);
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    part.encode(out);
    let length = (out.len() - start - 8) as u64;
    if let Some(place) = out.get_mut(start..start + 8) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

/// A part that snapshots of before it do not have. Of those that follow each other, only the one that is
/// next can be there.
fn get_if_there<P: Part + Default>(
    reader: &mut Reader<'_>,
    settings: &Settings,
) -> Result<P, SnapshotError> {
    match reader.peek() {
        Some(tag) if tag == P::TAG => get(reader, settings),
        Some(_) | None => Ok(P::default()),
    }
}

fn get<P: Part>(reader: &mut Reader<'_>, settings: &Settings) -> Result<P, SnapshotError> {
    let read = |reader: &mut Reader<'_>| {
        if reader.array()? != [P::TAG, P::VERSION] {
            return Err(WireError("expected this part in the version of this build"));
        }
        let length = u64::from_le_bytes(reader.array()?);
        let length = usize::try_from(length).map_err(|_| WireError("expected fewer bytes"))?;
        let mut inside = Reader::new(reader.take(length)?);
        let part = P::decode(&mut inside, settings)?;
        inside.end()?;
        Ok(part)
    };
    read(reader).map_err(|WireError(what)| SnapshotError {
        part: P::NAME,
        what,
    })
}
