//! `/mcp`: the same server over streamable HTTP, with the exchange of this process behind it.

use super::Server;
use super::local::Local;
use crate::http::call::{Answer, Call};
use crate::http::door::Door;
use crate::http::problem::bad_request;
use axum::body::Body;
use axum::http::Request;
use protocol::Party;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes of a request around the largest envelope: the tool's other arguments, and the quoting.
const ROOM_BYTES: usize = 1 << 20;

/// Between the beginning of the drain and the end of all sessions.
const FAREWELL: Duration = Duration::from_millis(500);

/// The sessions of one door.
pub(crate) struct Sessions {
    manager: Arc<LocalSessionManager>,
    end: CancellationToken,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            manager: Arc::default(),
            end: CancellationToken::new(),
        }
    }

    /// Ends every session and every stream that waits, after calls had time to say that the exchange
    /// shuts down.
    fn end(&self) {
        let end = self.end.clone();
        tokio::spawn(async move {
            tokio::time::sleep(FAREWELL).await;
            end.cancel();
        });
    }
}

/// Any method on `/mcp`. `?as=PARTY` says who the host is.
pub(crate) async fn mcp(call: Call) -> Answer {
    let mut query = call.query()?;
    let party = query.take("as")?;
    query.finish()?;
    let party = party.filter(|party| !party.is_empty()).ok_or_else(|| {
        let detail = "expected the query `as` to name the party that the host acts as, such as /mcp?as=agent:planner";
        bad_request("/as", detail)
    })?;
    call.door.refuse_late()?;
    let party = Party::parse(&party);
    let door = Arc::clone(&call.door);
    let bytes_max = 2 * door.envelope_bytes_max() + ROOM_BYTES;
    let config = StreamableHttpServerConfig::default()
        // The route has checked both, by the door's own settings.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_sse_keep_alive(Some(door.settings.keep_alive()))
        .with_max_request_body_bytes(bytes_max)
        .with_cancellation_token(door.mcp.end.clone());
    let manager = Arc::clone(&door.mcp.manager);
    // A session outlives the connection that began it.
    let make = move || {
        let local = Local::new(Arc::clone(&door), door.handle.connection());
        Ok(Server::new(local, party.clone()))
    };
    let service = StreamableHttpService::new(make, manager, config);
    let request = Request::from_parts(call.parts, call.body);
    let response = service.handle(request).await;
    Ok(response.map(Body::new))
}

impl Door {
    /// Ends what hosts are told over `/mcp`.
    pub(crate) fn end_mcp(&self) {
        self.mcp.end();
    }
}
