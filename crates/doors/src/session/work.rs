//! What a session waits for besides frames.

use broker::{Batch, Delivery, Tail};
use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use protocol::Rejection;
use protocol::session::About;
use std::sync::Arc;

/// The name of a reader on its connection: the subscription's id, empty for the inbox.
pub(super) type Name = Arc<str>;

/// Something that was waited for.
pub(super) enum Done {
    /// A live reader has its place, or was refused.
    Opened {
        name: Name,
        about: Option<About>,
        is_replay: bool,
        tail: Result<Box<Tail>, Rejection>,
    },
    /// A live reader has something to tell.
    Batch {
        name: Name,
        tail: Box<Tail>,
        batch: Result<Batch, Rejection>,
    },
    /// A durable subscription stands, or was refused.
    Stands {
        name: Name,
        about: Option<About>,
        result: Result<(), Rejection>,
    },
    /// A place gave deliveries, or none in time.
    Pulled {
        name: Name,
        pulled: Result<Vec<Delivery>, Rejection>,
    },
    /// A connection that said nothing of what it wants overhears from now on, or cannot.
    Overhears { tail: Result<Box<Tail>, Rejection> },
    /// Something was overheard.
    Overheard {
        tail: Box<Tail>,
        batch: Result<Batch, Rejection>,
    },
    /// Something that has no answer is done, or was given up.
    Over,
}

/// Everything one connection waits for, each in its turn.
pub(super) type Work = FuturesUnordered<BoxFuture<'static, Done>>;

/// Adds something to wait for that can be given up.
pub(super) fn add(work: &Work, future: impl Future<Output = Done> + Send + 'static) -> AbortHandle {
    let (handle, registration) = AbortHandle::new_pair();
    let future = Abortable::new(future, registration);
    work.push(future.map(|done| done.unwrap_or(Done::Over)).boxed());
    handle
}
