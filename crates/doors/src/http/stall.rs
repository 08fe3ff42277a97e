//! A connection whose peer does not take its data for too long is cut.
//!
//! The kernel reports nothing while a peer simply stops reading, so every write that has to wait is
//! watched here, for answers, streams and sockets alike. Readers get the stall time to come back and be
//! told where they stand; the connection is cut after as long again.

use super::meter::{Meter, Open};
use super::peer::Peer;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Wraps a connection; a write that waits for too long fails with `TimedOut`.
pub(crate) struct StallGuard<S> {
    inner: S,
    peer: Arc<Peer>,
    meter: Meter,
    waiting: Option<Waiting>,
}

/// A write that waits.
struct Waiting {
    late_at: Instant,
    cut_at: Instant,
    next_look: Pin<Box<Sleep>>,
    /// From when it has waited for too long.
    late: Option<Open>,
}

impl<S> StallGuard<S> {
    pub(crate) fn new(inner: S, peer: Arc<Peer>, meter: Meter) -> Self {
        Self {
            inner,
            peer,
            meter,
            waiting: None,
        }
    }

    fn guard<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return self.noted(written);
        }
        let peer = &self.peer;
        let waiting = self.waiting.get_or_insert_with(|| {
            peer.stalls();
            let now = Instant::now();
            Waiting {
                late_at: now + peer.stall,
                cut_at: now + peer.stall.saturating_mul(2),
                next_look: Box::pin(sleep(peer.look_every())),
                late: None,
            }
        });
        loop {
            ready!(waiting.next_look.as_mut().poll(cx));
            let now = Instant::now();
            if waiting.late.is_none() && (now >= waiting.late_at || peer.is_over_budget()) {
                peer.note_late();
                waiting.late = Some(Open::count(&self.meter.stalled));
                waiting.cut_at = now + peer.stall;
            }
            if now >= waiting.cut_at {
                break;
            }
            let next = waiting.cut_at.min(now + peer.look_every());
            waiting.next_look.as_mut().reset(next);
        }
        if peer.has_readers() && peer.note_slow() {
            self.meter.slow_consumers.inc();
            tracing::warn!("slow consumer, cut");
        }
        self.noted(Poll::Ready(Err(io::ErrorKind::TimedOut.into())))
    }

    /// Notes that the link failed. The library above ends an idle connection without a word about it.
    fn noted<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(done, Poll::Ready(Err(_))) {
            self.peer.is_broken.store(true, Ordering::Release);
        }
        done
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        self.noted(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.guard(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.guard(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.guard(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::StallGuard;
    use crate::http::HttpSettings;
    use crate::http::meter::Meter;
    use crate::http::peer::Peer;
    use broker::{Broker, Settings};
    use std::io::ErrorKind;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::time::Instant;

    struct World {
        broker: Broker,
        peer: Arc<Peer>,
        meter: Meter,
    }

    impl World {
        fn with(budget_bytes: u64) -> Self {
            let broker = Broker::open(Settings::default(), 7).unwrap();
            let settings = HttpSettings {
                write_stall_ms: 30_000,
                reader_budget_bytes: budget_bytes,
                ..HttpSettings::default()
            };
            let peer = Arc::new(Peer::new(&broker.handle(), &settings, None));
            Self {
                broker,
                peer,
                meter: Meter::default(),
            }
        }

        /// A connection with room for four bytes.
        fn connection(&self) -> (StallGuard<DuplexStream>, DuplexStream) {
            let (ours, theirs) = tokio::io::duplex(4);
            let guard = StallGuard::new(ours, Arc::clone(&self.peer), self.meter.clone());
            (guard, theirs)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_cut_and_one_that_does_is_not() {
        let world = World::with(1);
        let (mut ours, mut theirs) = world.connection();
        ours.write_all(b"abcd").await.unwrap();
        let mut buffer = [0; 4];
        theirs.read_exact(&mut buffer).await.unwrap();
        ours.write_all(b"efgh").await.unwrap();
        let start = Instant::now();
        let cut = ours.write_all(b"i").await.unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 60);
        assert_eq!(world.meter.slow_consumers.get(), 0, "it had no reader");
        world.broker.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_is_cut_earlier_when_more_is_due_than_its_budget() {
        let world = World::with(200);
        let come = Arc::new(AtomicU64::new(9_999));
        let feed = Arc::clone(&come);
        let _owed = world.peer.owe(move || feed.load(Ordering::Relaxed));
        let (mut ours, _theirs) = world.connection();
        let start = Instant::now();
        let more = async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(1_100)).await;
                come.fetch_add(100, Ordering::Relaxed);
            }
        };
        let (cut, ()) = tokio::join!(ours.write_all(b"abcdefgh"), more);
        assert_eq!(cut.unwrap_err().kind(), ErrorKind::TimedOut);
        // The third piece comes after 3.3 s, is seen at 4 s, and leaves 30 s to come back.
        assert_eq!(start.elapsed().as_secs(), 34);
        assert_eq!(world.meter.slow_consumers.get(), 1);
        assert!(world.peer.take_late() && !world.peer.take_late());
        assert_eq!(world.meter.stalled.get(), 1);
        drop(ours);
        assert_eq!(world.meter.stalled.get(), 0);
        world.broker.close().await;
    }
}
