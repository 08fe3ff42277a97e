//! What all sessions of one exchange share.

use super::registry::Registry;
use super::settings::SessionSettings;
use crate::http::Stop;
use broker::Handle;
use protocol::session::Capabilities;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The sessions of one exchange. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub(super) handle: Handle,
    pub(super) settings: Arc<SessionSettings>,
    pub(super) registry: Arc<Registry>,
    pub(super) stop: Stop,
    pub(super) end: CancellationToken,
}

impl Host {
    /// Sessions over `handle` that end with `stop`.
    #[must_use]
    pub fn new(handle: Handle, settings: SessionSettings, stop: Stop) -> Self {
        let registry = Registry::new(handle.clone(), settings.resume(), settings.parked_max);
        let end = stop.end();
        Self {
            handle,
            settings: Arc::new(settings),
            registry: Arc::new(registry),
            stop,
            end,
        }
    }

    /// Looks for what sessions of an earlier run left behind. They can be resumed for as long as any
    /// other; then it is removed. Call it once, when the exchange is open, and let the future run:
    /// sessions are opened when it is done.
    pub fn recall(&self) -> impl Future<Output = ()> + Send + use<> {
        self.registry.recall()
    }

    /// What this exchange can do, with the compressions that the connection has.
    #[must_use]
    pub fn capabilities(&self, compression: &[&'static str]) -> Capabilities {
        let broker = self.handle.settings();
        Capabilities {
            transports: self.settings.transports.clone(),
            payload_bytes_max: broker.rules.envelope_bytes_max,
            compression: compression.to_vec(),
            heartbeat_ms: self.settings.heartbeat_ms,
            replay_window_ms: broker.retention.age_ms,
            resume_window_ms: self.settings.resume_ms,
        }
    }
}

/// 64 random bits that name one connection; no secret.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
