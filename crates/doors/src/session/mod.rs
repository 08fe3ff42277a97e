//! AEP sessions over any duplex of text frames: WebSocket, standard input and output, a stream of a
//! remote call, two ends in memory.
//!
//! [`Frames`] is the seam: a transport moves whole texts and says how it ends. [`Host`] is what all
//! sessions of one exchange share. [`run`] is one connection: the pure machine of
//! [`protocol::session`] decides, this module carries out.

mod deliver;
mod frames;
mod held;
mod host;
mod lines;
mod overhear;
mod pair;
mod parting;
mod peer;
mod registry;
mod settings;
mod work;

pub use frames::{Broken, Frames, Goodbye, Heard};
pub use host::Host;
pub use lines::LineFrames;
pub use pair::{Pair, pair};
pub use peer::run;
pub use settings::SessionSettings;

#[cfg(test)]
mod tests;
