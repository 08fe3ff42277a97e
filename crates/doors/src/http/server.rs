//! Accepting connections, and ending without losing an answer.
//!
//! Order of a drain: readiness off; after the notice no new work, every stream and socket told with
//! its cursor, requests in flight answered; then the end, at the latest when the grace is over. Until
//! the end new connections are accepted and told why they are refused.

use super::door::Door;
use super::meter::Open;
use super::peer::Peer;
use super::stall::StallGuard;
use super::{HttpSettings, Stop, refuge, routes};
use axum::Router;
use axum::extract::Request;
use broker::Handle;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use prometheus_client::registry::Registry;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// Pause after a refusal to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bytes of a request's head, and of an answer that waits to be written.
const HTTP1_BUFFER_BYTES: usize = 64 << 10;

/// Requests that one HTTP/2 connection may have open.
const STREAMS_PER_CONNECTION_MAX: u32 = 1_024;

/// Serves the exchange on `listener` until `stop` is asked and the drain is over.
///
/// On the first [`Stop::ask`] readiness goes off; after the notice the exchange takes no new publishes
/// ([`Handle::drain`]), readers are told to come back, and the call returns when all connections are
/// done or the grace is over. On the second it returns at once.
pub async fn serve(listener: TcpListener, handle: Handle, settings: HttpSettings, stop: Stop) {
    serve_with(listener, handle, settings, stop, |_| {}).await;
}

/// As [`serve`], with what else is shown at `/metrics`: `register` adds it.
pub async fn serve_with(
    listener: TcpListener,
    handle: Handle,
    settings: HttpSettings,
    stop: Stop,
    register: impl FnOnce(&mut Registry),
) {
    let is_loopback = listener
        .local_addr()
        .is_ok_and(|address| address.ip().is_loopback());
    let mut door = Door::new(handle, settings, stop, is_loopback);
    register(&mut door.registry);
    let door = Arc::new(door);
    let host = Arc::new(Host::new(&door));
    // Aside: only who opens a session has to wait for it.
    tokio::spawn(door.sessions.recall());
    tokio::select! {
        never = accept(&listener, &host) => match never {},
        () = drain(&door) => {}
    }
    door.end.cancel();
}

/// From the first ask to the end.
async fn drain(door: &Door) {
    door.stop.asked().await;
    let notice = door.settings.drain_notice();
    tracing::info!(notice_ms = door.settings.drain_notice_ms, "no longer ready");
    tokio::select! {
        () = sleep(notice) => {}
        () = door.end.cancelled() => {}
    }
    door.handle.drain();
    door.stop.drain();
    #[cfg(feature = "mcp")]
    door.end_mcp();
    tracing::info!(connections = door.tasks.len(), "draining");
    door.tasks.close();
    tokio::select! {
        waited = timeout(door.settings.drain_grace(), door.tasks.wait()) => {
            if waited.is_err() {
                tracing::warn!(connections = door.tasks.len(), "the drain's grace is over");
            }
        }
        () = door.end.cancelled() => tracing::warn!("ended at once"),
    }
}

/// What every connection needs.
struct Host {
    door: Arc<Door>,
    router: Router,
    builder: Builder<TokioExecutor>,
    /// For connections that come while draining: one answer each.
    last_builder: Builder<TokioExecutor>,
    room: Arc<Semaphore>,
    refuge: refuge::Refuge,
}

impl Host {
    fn new(door: &Arc<Door>) -> Self {
        let mut last_builder = builder(&door.settings);
        last_builder.http1().keep_alive(false);
        let most = door.settings.connections_max.min(Semaphore::MAX_PERMITS);
        Self {
            door: Arc::clone(door),
            router: routes::router(door),
            builder: builder(&door.settings),
            last_builder,
            room: Arc::new(Semaphore::new(most)),
            refuge: refuge::Refuge::default(),
        }
    }
}

async fn accept(listener: &TcpListener, host: &Arc<Host>) -> std::convert::Infallible {
    loop {
        let connection = match listener.accept().await {
            Ok((connection, _)) => connection,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(room) = Arc::clone(&host.room).try_acquire_owned() else {
            host.door.meter.turned_away.inc();
            // In the middle of a handshake there is no way to say why.
            if host.door.settings.tls.is_none() {
                host.refuge.turn_away(connection, &host.door.settings);
            }
            continue;
        };
        let served = Arc::clone(host);
        let connect = async move { connect(&served, connection, room).await };
        if host.door.stop.is_draining() {
            // Nobody waits for these.
            tokio::spawn(connect);
        } else {
            host.door.tasks.spawn(connect);
        }
    }
}

fn builder(settings: &HttpSettings) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(HTTP1_BUFFER_BYTES)
        .header_read_timeout(Duration::from_millis(settings.head_wait_ms.max(1)));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(settings.keep_alive())
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .enable_connect_protocol();
    builder
}

fn prepare(connection: &TcpStream, unsent_bytes_max: u32) {
    // Without this, small frames wait for the peer's delayed acknowledgement: 40 ms.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "nodelay could not be set");
    }
    // Otherwise the system takes up to 4 MiB for a peer that does not read, out of what it has for all
    // connections of the machine.
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(connection).set_tcp_notsent_lowat(unsent_bytes_max) {
        tracing::debug!(%error, "unsent bytes could not be bounded");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = unsent_bytes_max;
}

/// Serves one connection until it ends, is told to drain, or everything ends.
async fn connect(host: &Host, connection: TcpStream, room: OwnedSemaphorePermit) {
    let door = &host.door;
    let _open = Open::count(&door.meter.connections);
    prepare(&connection, door.settings.unsent_bytes_max);
    let peer = Arc::new(Peer::new(&door.handle, &door.settings, Some(room)));
    let guarded = StallGuard::new(connection, Arc::clone(&peer), door.meter.clone());
    let Some(tls) = &door.settings.tls else {
        return serve_connection(host, guarded, peer).await;
    };
    let wait = Duration::from_millis(door.settings.head_wait_ms.max(1));
    tokio::select! {
        shaken = timeout(wait, tls.acceptor().accept(guarded)) => match shaken {
            Ok(Ok(secured)) => serve_connection(host, secured, peer).await,
            Ok(Err(error)) => tracing::debug!(%error, "no TLS handshake"),
            Err(_) => tracing::debug!("no TLS handshake in time"),
        },
        () = door.end.cancelled() => {}
    }
}

/// Serves a connection whose bytes are plain here.
async fn serve_connection<S>(host: &Host, connection: S, peer: Arc<Peer>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let door = &host.door;
    let inner = TowerToHyperService::new(host.router.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request;
        request.extensions_mut().insert(Arc::clone(&peer));
        inner.call(request)
    });
    let is_late = door.stop.is_draining();
    let builder = if is_late {
        &host.last_builder
    } else {
        &host.builder
    };
    let mut serving =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(connection), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = door.end.cancelled() => return,
        () = door.stop.draining(), if !is_late => {
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
