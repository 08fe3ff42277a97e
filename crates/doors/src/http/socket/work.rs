//! What a socket waits for besides frames: readers' next batches and slow operations.

use super::frame::Reference;
use crate::http::receipts::Watcher;
use axum::body::Bytes;
use broker::{Batch, Delivery, Tail, TaskNews, TaskTail};
use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use protocol::Rejection;

/// Something that was waited for.
pub(crate) enum Done {
    /// An answer is ready.
    Answer(Bytes),
    /// A live reader has its place, or was refused.
    Opened {
        reference: Reference,
        tail: Result<Tail, Rejection>,
    },
    /// A live reader has something to tell.
    Batch {
        reference: Reference,
        tail: Tail,
        batch: Result<Batch, Rejection>,
    },
    /// A reader of a task has its place, or was refused.
    Watching {
        reference: Reference,
        tail: Result<Box<TaskTail>, Rejection>,
    },
    /// A reader of a task has something to tell.
    News {
        reference: Reference,
        tail: Box<TaskTail>,
        news: Result<TaskNews, Rejection>,
    },
    /// A durable reader got deliveries, or none in time.
    Pulled {
        reference: Reference,
        pulled: Result<Vec<Delivery>, Rejection>,
    },
    /// A watched message has news, or there is nothing left to tell.
    Told {
        reference: Reference,
        watcher: Option<Watcher>,
        told: Option<Result<String, Rejection>>,
    },
    /// Was given up.
    Abandoned,
}

/// Everything one socket waits for, each in its turn.
pub(crate) type Work = FuturesUnordered<BoxFuture<'static, Done>>;

/// Adds something to wait for that can be given up.
pub(crate) fn add(work: &Work, future: impl Future<Output = Done> + Send + 'static) -> AbortHandle {
    let (handle, registration) = AbortHandle::new_pair();
    let future = Abortable::new(future, registration);
    work.push(future.map(|done| done.unwrap_or(Done::Abandoned)).boxed());
    handle
}
