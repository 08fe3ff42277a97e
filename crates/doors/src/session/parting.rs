//! How a connection ends: the last words, what it held, what is kept of its session.

use super::frames::{Frames, Goodbye};
use super::peer::{End, Peer};
use broker::Departure;
use protocol::session::Ending;
use protocol::{Code, Fault};
use std::sync::Arc;

impl<F: Frames> Peer<F> {
    /// The last words. A session whose connection is lost is kept for its return.
    pub(super) async fn finish(mut self, end: End) {
        self.hand_over().await;
        let now = self.now();
        let words = match end {
            End::Draining => {
                // What was taken is answered.
                let _ = self.answer_rest().await;
                let retry_ms = Some(self.host.settings.drain_retry_ms);
                Some(self.machine.farewell(now, "draining", retry_ms, None))
            }
            End::Slow => {
                let detail = "expected the peer to take its data, and it did not for too long";
                let refused = Fault::new(Code::SlowConsumer, "", "ARCHITECTURE readers", detail);
                Some(
                    self.machine
                        .farewell(now, "slow_consumer", None, Some(&refused.into())),
                )
            }
            End::Closed => {
                let _ = self.answer_rest().await;
                // The peer ended its side without a word: so do we with the session (AEP 9.1).
                (!F::HAS_PINGS && self.machine.session().is_some())
                    .then(|| self.machine.farewell(now, "peer_disconnected", None, None))
            }
            End::Taken | End::Gone | End::Silent | End::Unreadable(_) | End::Said(_) | End::Cut => {
                None
            }
        };
        self.leave_all(end).await;
        let goodbye = match end {
            End::Closed | End::Said(Ending::Failed) => Goodbye::Done,
            End::Draining | End::Taken => Goodbye::Away,
            End::Silent | End::Said(Ending::Silent) => Goodbye::Silent,
            End::Slow => Goodbye::Slow,
            End::Said(Ending::Refused) => Goodbye::Protocol,
            End::Unreadable(goodbye) => goodbye,
            End::Gone | End::Cut => return,
        };
        if let Some(words) = words
            && self.frames.send(words.into()).await.is_err()
        {
            return;
        }
        if self.frames.flush().await.is_ok() {
            self.frames.close(goodbye).await;
        }
    }

    /// What this connection's consumers hold goes to others, and its session is parked.
    async fn leave_all(&mut self, end: End) {
        // Pulls under way are given up first, so that nothing is handed to them any more.
        self.work.clear();
        let how = match end {
            End::Gone | End::Silent => Some(Departure::IsGone),
            End::Closed | End::Slow | End::Taken | End::Unreadable(_) | End::Said(_) => {
                Some(Departure::Leaves)
            }
            // Leases end with the exchange.
            End::Draining | End::Cut => None,
        };
        let (places, durable) = self.readers.leave();
        if let Some(how) = how {
            let consumer = Some(Arc::clone(&self.own_name));
            let leaving = places
                .into_iter()
                .map(|place| self.handle.leave(place, consumer.clone(), how));
            for refused in futures_util::future::join_all(leaving)
                .await
                .into_iter()
                .filter_map(Result::err)
            {
                tracing::debug!(%refused, "leases run out instead");
            }
        }
        match (self.claim.take(), self.machine.park()) {
            (Some(claim), Some(parked)) => self.host.registry.park(claim, parked),
            (claim, _) => {
                if let Some(claim) = claim {
                    self.host.registry.release(&claim);
                }
                for name in durable {
                    if let Err(refused) = self.handle.remove_subscription(&name).await {
                        tracing::debug!(%refused, "a session's subscription was gone");
                    }
                }
            }
        }
    }
}
