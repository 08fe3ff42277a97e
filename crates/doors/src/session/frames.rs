//! The seam between a session and its transport: whole text frames, both ways.

use broker::{Cursor, Feed};
use bytes::Bytes;
use std::any::Any;

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// One text, not yet known to be UTF-8.
    Text(Bytes),
    /// A frame that carries no text.
    Binary,
    /// A sign of life without content.
    Alive,
    /// The peer says that nothing more comes.
    Closed,
    /// The link broke.
    Gone,
    /// The peer sent what cannot be taken apart into frames.
    Unreadable(Goodbye),
}

/// Why writing has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The peer is gone.
    Gone,
    /// The peer did not take its data for too long.
    Slow,
}

/// How a connection is ended; every transport says it in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goodbye {
    /// All is said.
    Done,
    /// The exchange goes away, or the session went on elsewhere.
    Away,
    /// The peer is silent.
    Silent,
    /// The peer is too slow.
    Slow,
    /// The session could not be agreed on, or the peer does not keep to the transport's rules.
    Protocol,
    /// A frame is over every limit.
    TooLarge,
    /// A text frame is not UTF-8.
    NotText,
}

/// A duplex of text frames. One reader and one writer, the same task.
pub trait Frames: Send {
    /// Whether the transport can ask a peer for a sign of life, so that silence means something.
    const HAS_PINGS: bool;

    /// Whether a peer that does not say what it wants hears everything, as on the sockets of the AEP
    /// daemon.
    const OVERHEARS: bool = false;

    /// The next frame. Cancelling the wait loses nothing.
    fn next(&mut self) -> impl Future<Output = Heard> + Send;

    /// Puts a text on its way; it leaves with the next flush at the latest.
    fn send(&mut self, text: Bytes) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Sends what waits.
    fn flush(&mut self) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Asks for a sign of life, where that is possible.
    fn ping(&mut self) -> impl Future<Output = Result<(), Broken>> + Send;

    /// The last frame, and the end.
    fn close(self, goodbye: Goodbye) -> impl Future<Output = ()> + Send;

    /// Everything up to `cursor` was sent. For transports whose last word says how far they came.
    fn reached(&mut self, cursor: Cursor) {
        let _ = cursor;
    }

    /// A reader begins on this connection; what is returned is dropped when it ends. For transports
    /// that judge by it whether a peer is too slow.
    fn owe(&self, feed: Feed) -> Option<Box<dyn Any + Send>> {
        drop(feed);
        None
    }
}
