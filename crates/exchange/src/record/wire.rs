//! What a record's bytes are made of: those of [`protocol::wire`], and the number of a place.

use super::{RecordError, VERSION};
use crate::place::PlaceId;

pub(crate) use protocol::wire::{Reader, put_text, put_varint};

/// What records hold besides numbers and texts.
pub(crate) trait ReadRecord {
    /// The version in front of a body.
    fn version(&mut self) -> Result<(), RecordError>;
    /// The number of a place.
    fn place(&mut self) -> Result<PlaceId, RecordError>;
}

impl ReadRecord for Reader<'_> {
    fn version(&mut self) -> Result<(), RecordError> {
        if self.byte()? == VERSION {
            Ok(())
        } else {
            Err(RecordError("expected record version 1"))
        }
    }

    fn place(&mut self) -> Result<PlaceId, RecordError> {
        let id = self
            .small()
            .map_err(|_| RecordError("expected a place number"))?;
        Ok(PlaceId(id))
    }
}
