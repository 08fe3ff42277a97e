//! CloudEvents 1.0 around envelopes: the attributes that describe one, the JSON form of an event, and
//! reading an envelope out of what a foreign library sent.
//!
//! The envelope is the event's data and stays what it is, byte for byte. The attributes say again, in
//! the words of CloudEvents, what its header says; an event whose attributes say something else than
//! its envelope is refused, because one of the two readers would be misled.

mod attributes;
mod read;
mod write;

pub use attributes::{Attribute, Context, attributes, decode_header, encode_header};
pub use read::{Data, Event, agrees, binary, structured};
pub use write::{DataForm, write};

/// The version that is spoken.
pub const SPEC_VERSION: &str = "1.0";

/// What faults about events name: `docs/cloudevents.md`.
pub(crate) const RULE: &str = "CLOUDEVENTS";

#[cfg(test)]
mod tests;
