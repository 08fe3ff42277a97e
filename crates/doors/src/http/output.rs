//! A response body that is written while the request is still being read.
//!
//! Many clients send their whole body before they read a byte of the answer. The writer therefore
//! does not wait for the reader until a byte budget is used up; only then does it hold back.

use axum::body::{Body, Bytes};
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};

/// The writing side.
#[derive(Debug)]
pub(crate) struct Output {
    chunks: mpsc::UnboundedSender<Bytes>,
    budget: Arc<Semaphore>,
    budget_bytes: usize,
}

/// A body and what writes it. At most `budget_bytes` wait unread.
pub(crate) fn channel(budget_bytes: usize) -> (Output, Body) {
    let budget_bytes = budget_bytes.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let (chunks, unread) = mpsc::unbounded_channel::<Bytes>();
    let budget = Arc::new(Semaphore::new(budget_bytes));
    let state = (unread, Arc::clone(&budget));
    let body = stream::unfold(state, move |(mut unread, budget)| async move {
        let chunk: Bytes = unread.recv().await?;
        budget.add_permits(chunk.len().min(budget_bytes));
        Some((Ok::<_, Infallible>(chunk), (unread, budget)))
    });
    (
        Output {
            chunks,
            budget,
            budget_bytes,
        },
        Body::from_stream(body),
    )
}

impl Output {
    /// Appends to the body; false when the reader has gone.
    pub(crate) async fn send(&self, chunk: Bytes) -> bool {
        if chunk.is_empty() {
            return true;
        }
        let cost = u32::try_from(chunk.len().min(self.budget_bytes)).unwrap_or(u32::MAX);
        tokio::select! {
            biased;
            () = self.chunks.closed() => false,
            permit = self.budget.acquire_many(cost) => {
                if let Ok(permit) = permit {
                    permit.forget();
                }
                self.chunks.send(chunk).is_ok()
            }
        }
    }

    /// Returns when the reader has gone.
    pub(crate) async fn closed(&self) {
        self.chunks.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::channel;
    use axum::body::{Bytes, to_bytes};
    use std::future::poll_fn;
    use std::task::Poll;

    #[tokio::test]
    async fn the_writer_waits_only_when_the_budget_is_used_up() {
        let (output, body) = channel(10);
        assert!(output.send(Bytes::from_static(b"123456")).await);
        assert!(output.send(Bytes::from_static(b"7890")).await);
        let mut third = Box::pin(output.send(Bytes::from_static(b"abc")));
        let waits = poll_fn(|cx| Poll::Ready(third.as_mut().poll(cx).is_pending())).await;
        assert!(waits);
        drop(third);
        drop(output);
        assert_eq!(&to_bytes(body, 100).await.unwrap()[..], b"1234567890");
    }

    #[tokio::test]
    async fn a_reader_that_left_ends_the_writer() {
        let (output, body) = channel(1);
        drop(body);
        assert!(!output.send(Bytes::from_static(b"x")).await);
        output.closed().await;
    }
}
