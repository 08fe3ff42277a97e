//! The readers of one socket by their reference.

use super::frame::Reference;
use crate::http::peer::Owed;
use crate::http::rendering::As;
use broker::{Cursor, PlaceName};
use futures_util::future::AbortHandle;
use std::collections::HashMap;
use std::sync::Arc;

/// One reader.
pub(crate) struct Reader {
    pub kind: Kind,
    /// Gives up what the reader waits for.
    pub waits: AbortHandle,
}

/// Live or durable.
pub(crate) enum Kind {
    /// Follows the journal; everything up to the cursor was written.
    Live {
        cursor: Cursor,
        /// From when its place is known.
        owed: Option<Owed>,
        /// In which dialect it is told.
        wanted: As,
    },
    /// Consumes a durable place.
    Durable(Durable),
    /// Follows what becomes of one message.
    Watch,
}

/// A durable reader. What it holds the exchange knows.
#[derive(Clone, Debug)]
pub(crate) struct Durable {
    pub place: PlaceName,
    pub consumer: Arc<str>,
    /// Most deliveries of the place that the consumer holds.
    pub in_flight_max: usize,
    /// In which dialect it is told.
    pub wanted: As,
}

/// All readers of one socket.
pub(crate) type Readers = HashMap<Reference, Reader>;
