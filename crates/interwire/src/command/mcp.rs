//! `interwire mcp`: the tools of an exchange for an MCP host, over standard input and output.
//!
//! A host such as a desktop assistant or an editor starts this program. Standard output belongs to the
//! protocol; whatever else there is to say goes to standard error.

mod remote;

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::logging;
use doors::mcp::Server;
use protocol::Party;
use remote::Remote;
use rmcp::ServiceExt as _;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire mcp --as agent:planner
  INTERWIRE_URL=http://127.0.0.1:4747 interwire mcp --as human:ada

In the configuration of an MCP host:
  {\"mcpServers\": {\"interwire\": {\"command\": \"interwire\", \"args\": [\"mcp\", \"--as\", \"agent:planner\"]}}}")]
pub struct Arguments {
    /// What is logged on standard error
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: String,
    #[command(flatten)]
    connection: Connection,
}

/// Serves until the host closes standard input.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    logging::start(&arguments.log, false).map_err(Failure::Usage)?;
    let Some(party) = arguments
        .connection
        .party
        .as_deref()
        .filter(|party| !party.is_empty())
    else {
        return Err(Failure::Usage(
            "expected --as PARTY or INTERWIRE_AS: who the host acts as, such as agent:planner"
                .into(),
        ));
    };
    // The exchange may start later than the host: the tools say what is wrong until then.
    let remote = Remote::new(arguments.connection.client()?);
    let server = Server::new(remote, Party::parse(party));
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // The host went before it said anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(Answer::Yes),
        Err(error) => {
            return Err(Failure::Refused(format!(
                "the host cannot be served: {error}"
            )));
        }
    };
    match running.waiting().await {
        Ok(_) => Ok(Answer::Yes),
        Err(error) => Err(Failure::Refused(format!("the server ended badly: {error}"))),
    }
}
