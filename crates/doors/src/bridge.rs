//! The MCP bridge: tools of any MCP server become asynchronous tools of the exchange.
//!
//! Each server is a party. An AEP `tool.call.requested` in its inbox is accepted, run, and told of with
//! `tool.call.progress`, `tool.call.output` and one end; a `tool.call.cancel.requested` calls it off. The
//! request is acknowledged only after its end is durable, so nothing is lost when the exchange or the
//! server dies in the middle: a call that had begun then ends as failed, or runs again when the tool says
//! that this does no harm.

mod announce;
mod call;
mod connection;
mod desk;
mod events;
mod progress;

use crate::http::Stop;
use broker::Handle;
use protocol::Party;
use std::time::Duration;
use tokio::task::JoinSet;

/// The first pause before a server is started again, and the longest.
const BACKOFF: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// A server that stayed for so long is healthy: the next pause is short again.
const HEALTHY: Duration = Duration::from_secs(30);

/// One MCP server whose tools are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name in logs and in events.
    pub name: String,
    /// Who it is on the exchange.
    pub party: Party,
    /// How it is reached.
    pub reach: Reach,
    /// Milliseconds that one call may take when the request does not say.
    pub timeout_ms: u64,
    /// Calls that run at once; more wait.
    pub calls_max: usize,
}

/// How an MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A program of this machine, over its standard input and output.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables beside those of this process.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Url(String),
}

/// The bridges of one process.
#[derive(Debug)]
pub struct Bridges {
    running: JoinSet<()>,
}

impl Bridges {
    /// Begins to offer the tools of these servers, until `stop` leads to the drain.
    #[must_use]
    pub fn start(servers: Vec<McpServer>, handle: &Handle, stop: &Stop) -> Self {
        let mut running = JoinSet::new();
        for server in servers {
            running.spawn(keep(server, handle.connection(), stop.clone()));
        }
        Self { running }
    }

    /// Returns when all have ended, which they do at the drain.
    pub async fn ended(mut self) {
        while let Some(ended) = self.running.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a bridge ended badly");
            }
        }
    }
}

/// Keeps one server connected.
async fn keep(server: McpServer, handle: Handle, stop: Stop) {
    let mut pause = BACKOFF;
    let mut announced = None;
    loop {
        let start = tokio::time::Instant::now();
        let served = tokio::select! {
            served = serve(&server, &handle, &stop, &mut announced) => served,
            () = stop.draining() => return,
        };
        if start.elapsed() >= HEALTHY {
            pause = BACKOFF;
        }
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let name = &server.name;
        match served {
            Ok(()) => tracing::warn!(name, pause_ms, "the MCP server ended; it is started again"),
            Err(error) => {
                tracing::warn!(name, pause_ms, error, "the MCP server cannot be reached");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.draining() => return,
        }
        pause = (pause * 2).min(BACKOFF_MAX);
    }
}

/// One life of a server: from its start to its end.
async fn serve(
    server: &McpServer,
    handle: &Handle,
    stop: &Stop,
    announced: &mut Option<protocol::Digest>,
) -> Result<(), String> {
    let connection = connection::open(server).await?;
    let tools = connection.tools().await?;
    tracing::info!(name = server.name, party = %server.party, tools = tools.len(), "offering the tools of an MCP server");
    let desk = desk::Desk::new(server.clone(), handle.clone(), connection.peer(), tools);
    announce::announce(&desk, None, announced).await;
    desk.work(connection, stop, announced).await;
    Ok(())
}
