//! Accepting connections, and ending without losing an answer.
//!
//! Order of a drain: readiness off, no new connections, every stream and socket told with its
//! cursor, requests in flight answered, then the end; at the latest when the grace is over.

use super::door::Door;
use super::meter::Open;
use super::stall::StallGuard;
use super::{HttpSettings, Stop, routes};
use axum::Router;
use broker::Handle;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Pause after a refusal to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Requests that one HTTP/2 connection may have open.
const STREAMS_PER_CONNECTION_MAX: u32 = 1_024;

/// Serves the exchange on `listener` until `stop` is asked and the drain is over.
///
/// On the first [`Stop::ask`] the exchange takes no new publishes ([`Handle::drain`]), readers are told
/// to come back, and the call returns when all connections are done or the grace is over. On the
/// second it returns at once.
pub async fn serve(listener: TcpListener, handle: Handle, settings: HttpSettings, stop: Stop) {
    let grace = settings.drain_grace();
    let is_loopback = listener
        .local_addr()
        .is_ok_and(|address| address.ip().is_loopback());
    let door = Arc::new(Door::new(handle, settings, stop, is_loopback));
    let router = routes::router(&door);
    let builder = Arc::new(builder(&door.settings));
    while let Some(accepted) = accept(&listener, &door.stop).await {
        match accepted {
            Ok(connection) => {
                let (door, builder, router) =
                    (Arc::clone(&door), Arc::clone(&builder), router.clone());
                let tracker = door.tasks.clone();
                tracker.spawn(connect(door, builder, router, connection));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    door.handle.drain();
    drop(listener);
    tracing::info!(connections = door.tasks.len(), "draining");
    door.tasks.close();
    tokio::select! {
        waited = timeout(grace, door.tasks.wait()) => {
            if waited.is_err() {
                tracing::warn!(connections = door.tasks.len(), "the drain's grace is over");
            }
        }
        () = door.end.cancelled() => tracing::warn!("ended at once"),
    }
    door.end.cancel();
}

/// The next connection; `None` once the drain begins.
async fn accept(listener: &TcpListener, stop: &Stop) -> Option<io::Result<TcpStream>> {
    tokio::select! {
        biased;
        () = stop.draining() => None,
        accepted = listener.accept() => Some(accepted.map(|(connection, _)| connection)),
    }
}

fn builder(settings: &HttpSettings) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(settings.head_wait_ms.max(1)));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(settings.keep_alive())
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .enable_connect_protocol();
    builder
}

/// Serves one connection until it ends, is told to drain, or everything ends.
async fn connect(
    door: Arc<Door>,
    builder: Arc<Builder<TokioExecutor>>,
    router: Router,
    connection: TcpStream,
) {
    let _open = Open::count(&door.meter.connections);
    // Without this, small frames wait for the peer's delayed acknowledgement: 40 ms.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "nodelay could not be set");
    }
    // Readers get the first limit to come back and be told; the connection is cut after the second.
    let guarded = StallGuard::new(connection, door.settings.write_stall().saturating_mul(2));
    let service = TowerToHyperService::new(router);
    let mut serving = pin!(builder.serve_connection_with_upgrades(TokioIo::new(guarded), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = door.end.cancelled() => return,
        () = door.stop.draining() => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                ended = serving.as_mut() => ended,
                () = door.end.cancelled() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
