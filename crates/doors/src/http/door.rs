//! What every request of this door shares.

use super::consumers::Consumers;
use super::harmovela::api::Desk;
use super::meter::Meter;
use super::{HttpSettings, Stop};
use crate::session::Host;
use axum::http::HeaderMap;
use broker::Handle;
use prometheus_client::registry::Registry;
use protocol::{Code, Fault, Rejection};
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The shared state of the running door.
pub(crate) struct Door {
    pub handle: Handle,
    pub settings: HttpSettings,
    pub stop: Stop,
    /// Whether only this machine can connect.
    pub is_loopback: bool,
    /// Cancelled when everything must end now: at the second stop or when the grace is over.
    pub end: CancellationToken,
    pub meter: Meter,
    pub registry: Registry,
    /// Connections and sockets; the door has drained when all are gone.
    pub tasks: TaskTracker,
    /// Random per process, so that ids of two runs cannot be confused in logs.
    run: u64,
    requests: AtomicU64,
    /// Sockets so far.
    sockets: AtomicU64,
    /// Which sockets read under which name.
    pub consumers: Consumers,
    /// Hosts that speak MCP.
    #[cfg(feature = "mcp")]
    pub mcp: crate::mcp::http::Sessions,
    /// AEP sessions.
    pub sessions: Host,
    /// What was read through the AEP daemon's API.
    pub desk: Arc<Desk>,
}

impl Door {
    pub(crate) fn new(
        handle: Handle,
        settings: HttpSettings,
        stop: Stop,
        is_loopback: bool,
    ) -> Self {
        let mut registry = Registry::default();
        let meter = Meter::default();
        handle.meter().register(&mut registry);
        meter.register(&mut registry);
        let end = stop.end();
        let sessions = Host::new(handle.clone(), settings.sessions(), stop.clone());
        Self {
            sessions,
            desk: Arc::new(Desk::new()),
            handle,
            settings,
            stop,
            is_loopback,
            end,
            meter,
            registry,
            tasks: TaskTracker::new(),
            run: RandomState::new().build_hasher().finish(),
            requests: AtomicU64::new(0),
            sockets: AtomicU64::new(0),
            consumers: Consumers::default(),
            #[cfg(feature = "mcp")]
            mcp: crate::mcp::http::Sessions::new(),
        }
    }

    /// The name of the next socket as a consumer. No other socket has it, in no run.
    pub(crate) fn socket_name(&self) -> Arc<str> {
        let number = self.sockets.fetch_add(1, Ordering::Relaxed);
        format!("socket-{:012x}-{number:x}", self.run >> 16).into()
    }

    /// The caller's `X-Request-Id` when it is short and plain, else a fresh one.
    pub(crate) fn request_id(&self, headers: &HeaderMap) -> RequestId {
        let given = headers
            .get("x-request-id")
            .and_then(|value| value.to_str().ok());
        match given {
            Some(text) if is_plain(text) => RequestId(text.into()),
            Some(_) | None => {
                let number = self.requests.fetch_add(1, Ordering::Relaxed);
                RequestId(format!("{:012x}-{number:x}", self.run >> 16).into())
            }
        }
    }

    /// A refusal because of the drain says when to come back.
    pub(crate) fn advise(&self, rejection: Rejection) -> Rejection {
        if rejection.code() == Code::Draining {
            rejection.retry_after(self.settings.drain_retry_ms)
        } else {
            rejection
        }
    }

    /// Whether new work should come here: neither stopping nor failed.
    pub(crate) fn readiness(&self) -> Result<(), Rejection> {
        self.handle.readiness()?;
        if self.stop.is_asked() {
            let detail = "expected an exchange that stays, got one that is about to shut down";
            return Err(Fault::new(Code::Draining, "", "ARCHITECTURE 4", detail).into());
        }
        Ok(())
    }

    /// Refuses what would only begin to be told that it ends.
    pub(crate) fn refuse_late(&self) -> Result<(), Rejection> {
        if self.stop.is_draining() {
            self.handle.readiness()?;
        }
        Ok(())
    }

    /// The largest envelope in bytes.
    pub(crate) fn envelope_bytes_max(&self) -> usize {
        self.handle.settings().rules.envelope_bytes_max
    }
}

/// Names one request in logs, in the response header and in problem documents.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(Box<str>);

impl RequestId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Longest request id that is taken over from the caller, in bytes.
const REQUEST_ID_BYTES_MAX: usize = 128;

fn is_plain(text: &str) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._:/+=".contains(&byte))
}
