//! One connection to an MCP server: its process or its address, its tools, what it reports.

use super::progress::Reports;
use super::{McpServer, Reach};
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, Tool,
};
use rmcp::service::{NotificationContext, Peer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use rustls::{ClientConfig as ClientTls, RootCertStore};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a server may take to say hello, and to list its tools.
const HELLO_WAIT: Duration = Duration::from_secs(30);

/// How long a program may take to end after its standard input has.
const FAREWELL_WAIT: Duration = Duration::from_secs(2);

/// How often a connection without a process is looked at. A call that fails is told at once.
const CLOSED_LOOK: Duration = Duration::from_secs(1);

/// Bytes of one line of a server's own log that are kept.
const LOG_LINE_BYTES_MAX: u64 = 4_096;

/// What the server tells without being asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Listener {
    pub reports: Arc<Reports>,
    /// Its tools are others now.
    pub changed: Arc<Notify>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("interwire", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.reports.report(params);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

/// A server that is connected.
#[derive(Debug)]
pub(super) struct Connection {
    running: RunningService<RoleClient, Listener>,
    child: Option<Child>,
}

/// Starts or reaches the server.
///
/// # Errors
/// A sentence.
pub(super) async fn open(server: &McpServer) -> Result<Connection, String> {
    match &server.reach {
        Reach::Url(url) => {
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let transport = StreamableHttpClientTransport::with_client(http_client()?, config);
            let hello = timeout(HELLO_WAIT, Listener::default().serve(transport)).await;
            let running = hello
                .map_err(|_| silent())?
                .map_err(|error| error.to_string())?;
            Ok(Connection {
                running,
                child: None,
            })
        }
        Reach::Command { command, args, env } => {
            let mut child = Command::new(command)
                .args(args)
                .envs(env.iter().map(|(name, value)| (name, value)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .map_err(|error| format!("{command:?} cannot be started: {error}"))?;
            let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
                return Err("the program has no standard input or output".into());
            };
            if let Some(stderr) = child.stderr.take() {
                tokio::spawn(log(server.name.clone(), stderr));
            }
            let hello = timeout(HELLO_WAIT, Listener::default().serve((stdout, stdin))).await;
            let running = hello
                .map_err(|_| silent())?
                .map_err(|error| error.to_string())?;
            Ok(Connection {
                running,
                child: Some(child),
            })
        }
    }
}

/// A client for servers at an address; https by the public authorities.
fn http_client() -> Result<reqwest::Client, String> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientTls::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // A connection that is used again costs 40 ms where the other side delays its
        // acknowledgements.
        .pool_max_idle_per_host(0)
        .tcp_nodelay(true)
        // Elsewhere nobody shall see the session.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| error.to_string())
}

fn silent() -> String {
    format!(
        "expected a server that answers within {} s, got silence",
        HELLO_WAIT.as_secs()
    )
}

impl Connection {
    pub(super) fn peer(&self) -> Peer<RoleClient> {
        self.running.peer().clone()
    }

    pub(super) fn listener(&self) -> Listener {
        self.running.service().clone()
    }

    /// All tools of the server.
    pub(super) async fn tools(&self) -> Result<Vec<Tool>, String> {
        list(self.running.peer()).await
    }

    /// Returns when the server has gone.
    pub(super) async fn gone(&mut self) {
        match &mut self.child {
            Some(child) => drop(child.wait().await),
            None => {
                // The library tells the end of a transport to nobody who waits for it.
                while !self.running.is_closed() && !self.running.peer().is_transport_closed() {
                    tokio::time::sleep(CLOSED_LOOK).await;
                }
            }
        }
    }

    /// Ends it: first by word, then by force.
    pub(super) async fn close(mut self) {
        let _ = timeout(FAREWELL_WAIT, self.running.close()).await;
        if let Some(child) = &mut self.child
            && timeout(FAREWELL_WAIT, child.wait()).await.is_err()
        {
            drop(child.kill().await);
        }
    }
}

/// All tools behind a peer.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, String> {
    let listed = timeout(HELLO_WAIT, peer.list_all_tools()).await;
    listed
        .map_err(|_| silent())?
        .map_err(|error| error.to_string())
}

/// What the program says on standard error, line by line.
async fn log(name: String, stderr: impl AsyncRead + Unpin) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line without an end comes in pieces.
        let mut piece = (&mut reader).take(LOG_LINE_BYTES_MAX);
        match piece.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                tracing::info!(name, line = text.trim_end(), "the MCP server says");
            }
        }
    }
}
