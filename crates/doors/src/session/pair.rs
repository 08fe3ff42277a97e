//! Two ends in memory: a session inside one process.

use super::frames::{Broken, Frames, Goodbye, Heard};
use bytes::Bytes;
use tokio::sync::mpsc;

/// Frames that may be on their way.
const ROOM: usize = 64;

/// One end.
#[derive(Debug)]
pub struct Pair {
    out: mpsc::Sender<Heard>,
    into: mpsc::Receiver<Heard>,
}

/// Two ends; what one sends the other hears.
#[must_use]
pub fn pair() -> (Pair, Pair) {
    let (left_out, right_in) = mpsc::channel(ROOM);
    let (right_out, left_in) = mpsc::channel(ROOM);
    let left = Pair {
        out: left_out,
        into: left_in,
    };
    (
        left,
        Pair {
            out: right_out,
            into: right_in,
        },
    )
}

impl Frames for Pair {
    const HAS_PINGS: bool = false;

    async fn next(&mut self) -> Heard {
        self.into.recv().await.unwrap_or(Heard::Gone)
    }

    async fn send(&mut self, text: Bytes) -> Result<(), Broken> {
        let sent = self.out.send(Heard::Text(text)).await;
        sent.map_err(|_| Broken::Gone)
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        Ok(())
    }

    async fn close(self, _: Goodbye) {
        // The other end may be gone already.
        let _ = self.out.send(Heard::Closed).await;
    }
}
