//! Telling a host how a long tool gets on.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

/// Where the progress of one call goes; nowhere when the host did not ask for it.
#[derive(Debug)]
pub(super) struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// The last number told. It must grow with every notification.
    last: f64,
}

impl Progress {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            last: 0.0,
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.token.is_some()
    }

    /// Tells one step. `part`, from 0 to 1, where it is known how much is done.
    pub(super) async fn tell(&mut self, part: Option<f64>, message: String) {
        let Some(token) = self.token.clone() else {
            return;
        };
        // Parts are told in hundredths; a step without one moves on by a little.
        self.last = match part {
            Some(part) if part * 100.0 > self.last => part * 100.0,
            _ => self.last + 0.01,
        };
        let mut told = ProgressNotificationParam::new(token, self.last).with_message(message);
        if part.is_some() {
            told = told.with_total(100.0);
        }
        // A host that has gone will not hear the end either.
        let _ = self.peer.notify_progress(told).await;
    }
}
