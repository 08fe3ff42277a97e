//! What the HTTP door can be told. Every limit has a unit in its name.

use super::Tls;
use crate::session::SessionSettings;
use crate::webhook::WebhookSettings;
use std::time::Duration;

/// Settings of the HTTP door. The largest single envelope is the broker's rule, not a setting here.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Bytes of one NDJSON body.
    pub ndjson_bytes_max: usize,
    /// Bytes of NDJSON results that wait for a client which sends without reading.
    pub unread_results_bytes_max: usize,
    /// Bytes of one list of CloudEvents.
    pub event_batch_bytes_max: usize,
    /// Milliseconds between two pieces of a body that is read whole.
    pub body_wait_ms: u64,
    /// Milliseconds for a request's head.
    pub head_wait_ms: u64,
    /// Milliseconds between keep-alive comments (server-sent events) or pings (WebSocket).
    pub keep_alive_ms: u64,
    /// Milliseconds between the heartbeats of an AEP session whose peer says nothing about them; 0 is
    /// off.
    pub session_heartbeat_ms: u64,
    /// Milliseconds for which an AEP session that lost its connection can be resumed.
    pub session_resume_ms: u64,
    /// Whether sockets compress for peers that ask for it (`permessage-deflate`).
    pub compression: bool,
    /// Publishes in flight on one socket or in one NDJSON body.
    pub in_flight_max: usize,
    /// Bytes of one socket frame beyond the largest envelope.
    pub socket_frame_room_bytes: usize,
    /// Live and durable readers on one socket.
    pub socket_readers_max: usize,
    /// Operations of one socket that may wait for their answer, besides publishes.
    pub socket_operations_max: usize,
    /// Connections at once; more are told to come back.
    pub connections_max: usize,
    /// Bytes of deliveries in one answer.
    pub reader_bytes_max: usize,
    /// Bytes on their way to one connection that the system takes before it has sent them.
    pub unsent_bytes_max: u32,
    /// Bytes of messages that may come for the readers of a connection while it takes nothing; with
    /// more it counts as too slow before the stall time is over.
    pub reader_budget_bytes: u64,
    /// Milliseconds that a reader may leave its data untaken before it counts as too slow. After as
    /// long again the connection is cut.
    pub write_stall_ms: u64,
    /// Messages in one page, deliveries in one pull.
    pub page_max: usize,
    /// Messages of one conversation in one trace, and as many linked to it.
    pub trace_max: usize,
    /// Milliseconds that a pull may wait.
    pub pull_wait_ms_max: u64,
    /// Milliseconds that who asks may wait for a reply.
    pub ask_wait_ms_max: u64,
    /// Host names under which a proxy may reach an exchange that listens on loopback, besides the
    /// machine's own.
    pub hosts: Vec<String>,
    /// Serve the reference surface of UAI-1 also where the reference site has it, below `/wp-json`.
    pub uai_wp_json: bool,
    /// Milliseconds from the first stop to the drain: not ready any more, but still at work, so that
    /// those who ask for readiness can turn elsewhere.
    pub drain_notice_ms: u64,
    /// Milliseconds from the beginning of the drain to the end.
    pub drain_grace_ms: u64,
    /// Milliseconds after which a drained reader should come back.
    pub drain_retry_ms: u64,
    /// Pushing deliveries to addresses.
    pub webhooks: WebhookSettings,
    /// Speak TLS; without it everything is plain.
    pub tls: Option<Tls>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            ndjson_bytes_max: 64 << 20,
            unread_results_bytes_max: 32 << 20,
            event_batch_bytes_max: 16 << 20,
            body_wait_ms: 30_000,
            head_wait_ms: 60_000,
            keep_alive_ms: 15_000,
            session_heartbeat_ms: 0,
            session_resume_ms: 300_000,
            compression: true,
            in_flight_max: 1_024,
            socket_frame_room_bytes: 64 << 10,
            socket_readers_max: 1_024,
            socket_operations_max: 64,
            connections_max: 16_384,
            reader_bytes_max: 8 << 20,
            unsent_bytes_max: 128 << 10,
            reader_budget_bytes: 8 << 20,
            write_stall_ms: 30_000,
            page_max: 1_000,
            trace_max: 100_000,
            pull_wait_ms_max: 60_000,
            ask_wait_ms_max: 3_600_000,
            hosts: Vec::new(),
            uai_wp_json: false,
            drain_notice_ms: 0,
            drain_grace_ms: 10_000,
            drain_retry_ms: 1_000,
            webhooks: WebhookSettings::default(),
            tls: None,
        }
    }
}

impl HttpSettings {
    pub(crate) fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms.max(1))
    }

    /// What the sessions of this door are told.
    pub(crate) fn sessions(&self) -> SessionSettings {
        SessionSettings {
            transports: vec!["websocket", "sse", "grpc"],
            heartbeat_ms: self.session_heartbeat_ms,
            resume_ms: self.session_resume_ms,
            subscriptions_max: self.socket_readers_max,
            in_flight_max: self.in_flight_max,
            keep_alive_ms: self.keep_alive_ms,
            drain_retry_ms: self.drain_retry_ms,
            ..SessionSettings::default()
        }
    }

    pub(crate) fn write_stall(&self) -> Duration {
        Duration::from_millis(self.write_stall_ms.max(1))
    }

    pub(crate) fn body_wait(&self) -> Duration {
        Duration::from_millis(self.body_wait_ms)
    }

    pub(crate) fn drain_notice(&self) -> Duration {
        Duration::from_millis(self.drain_notice_ms)
    }

    pub(crate) fn drain_grace(&self) -> Duration {
        Duration::from_millis(self.drain_grace_ms)
    }
}
