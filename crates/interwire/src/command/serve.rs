//! `interwire serve`: the exchange as a process.
//!
//! Prints where it listens once it really does. The first SIGTERM or SIGINT drains, the second ends
//! the process at once; what was acknowledged is on the disk either way.

use super::config::Source;
use crate::failure::{Answer, Failure};
use crate::settings::{Flag, Plan};
use crate::{lock, logging, output, tls};
use broker::{Broker, Durability, Storage};
use doors::bus::Buses;
use doors::http::{Stop, Tls};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire serve
  interwire serve --listen 127.0.0.1:0 --ephemeral
  interwire serve --config interwire.toml --set http.page_max=100")]
pub struct Arguments {
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:4747]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Folder of the journal [default: interwire-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Keep everything in memory; gone with the process
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// Serve an address that other machines can reach, although no credentials are asked for
    #[arg(long)]
    allow_open: bool,
    /// Log one JSON object a line
    #[arg(long)]
    log_json: bool,
    /// End when standard input ends, so that no exchange outlives the program that started it
    #[arg(long)]
    until_stdin_ends: bool,
    #[command(flatten)]
    source: Source,
}

impl Arguments {
    fn flags(&self) -> Vec<Flag> {
        let mut flags = Vec::new();
        let mut flag = |name: &'static str, text: &str, flag: &str| {
            flags.push((name, text.to_owned(), flag.to_owned()));
        };
        if let Some(listen) = &self.listen {
            flag("listen", listen, "--listen");
        }
        if let Some(data) = &self.data {
            flag("data", data, "--data");
        }
        if self.ephemeral {
            flag("durability", "memory", "--ephemeral");
        }
        if self.allow_open {
            flag("allow_open", "true", "--allow-open");
        }
        if self.log_json {
            flag("log_json", "true", "--log-json");
        }
        flags
    }
}

/// Runs until it is told to stop.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let mut plan = arguments.source.settle(arguments.flags())?.plan;
    logging::start(&plan.log, plan.log_json).map_err(Failure::Usage)?;
    plan.http.tls = tls::load(&plan.tls)?;
    refuse_open(&plan)?;
    let _lock = claim(&mut plan)?;
    // Before anybody knows the address, so that no signal finds the default action.
    let signals = Signals::new()?;
    let listener = TcpListener::bind(plan.listen).await.map_err(|error| {
        Failure::Refused(format!(
            "cannot listen on {}: {error}; choose another with --listen, port 0 takes a free one",
            plan.listen
        ))
    })?;
    let address = listener.local_addr()?;
    let durability = plan.broker.durability;
    let storage = plan.broker.storage.clone();
    let broker = Broker::open(plan.broker, client::chance::bits())
        .map_err(|error| Failure::Refused(error.to_string()))?;
    let stop = Stop::new();
    let buses = Buses::prepare(&plan.bus, &broker.handle(), &stop).await;
    let buses = buses.map_err(Failure::Refused)?;
    announce(address, plan.http.tls.as_ref(), &storage, durability);
    watch(signals, arguments.until_stdin_ends, stop.clone());
    let draining = stop.clone();
    let desk = broker::answer_questions(broker.handle().connection(), async move {
        draining.draining().await;
    });
    let desk = tokio::spawn(desk);
    #[cfg(feature = "mcp")]
    let bridges = doors::bridge::Bridges::start(plan.mcp_servers, &broker.handle(), &stop);
    let webhooks =
        doors::webhook::Webhooks::start(plan.http.webhooks.clone(), &broker.handle(), &stop);
    let grace = Duration::from_millis(plan.http.drain_grace_ms);
    let (bus_counts, webhook_counts) = (buses.meter(), webhooks.meter());
    let register = move |registry: &mut _| {
        bus_counts.register(registry);
        webhook_counts.register(registry);
    };
    let serving = doors::http::serve_with(listener, broker.handle(), plan.http, stop, register);
    tokio::join!(serving, buses.run(grace));
    webhooks.ended().await;
    if let Err(error) = desk.await {
        tracing::error!(%error, "who answers questions to the exchange ended badly");
    }
    #[cfg(feature = "mcp")]
    bridges.ended().await;
    broker.close().await;
    tracing::info!("stopped");
    Ok(Answer::Yes)
}

/// Anybody who can connect may do anything: other machines only when that is wanted.
fn refuse_open(plan: &Plan) -> Result<(), Failure> {
    let asks = plan
        .http
        .tls
        .as_ref()
        .is_some_and(|tls| tls.asks_for_certificates);
    if plan.listen.ip().is_loopback() || plan.allow_open || asks {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} can be reached by other machines and no credentials are asked for; listen on 127.0.0.1, \
         ask for client certificates with tls_client_ca, or say --allow-open when the network itself is protected",
        plan.listen
    )))
}

/// Where the journal goes, and the lock on it.
pub(super) fn claim(plan: &mut Plan) -> Result<Option<lock::FolderLock>, Failure> {
    if plan.broker.durability == Durability::Memory {
        plan.broker.storage = Storage::Memory;
        return Ok(None);
    }
    let lock = lock::take(&plan.data).map_err(Failure::Refused)?;
    let folder = plan
        .data
        .canonicalize()
        .unwrap_or_else(|_| plan.data.clone());
    plan.broker.storage = Storage::Folder(folder);
    Ok(Some(lock))
}

/// Tells people and the programs that wait for the first line. Nobody may be listening.
fn announce(
    address: std::net::SocketAddr,
    tls: Option<&Tls>,
    storage: &Storage,
    durability: Durability,
) {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let asks = tls.is_some_and(|tls| tls.asks_for_certificates);
    let data = match storage {
        Storage::Folder(folder) => {
            format!(
                "data in {} ({})",
                folder.display(),
                broker::durability_word(durability)
            )
        }
        Storage::Memory => "data in memory only, gone with this process".to_owned(),
    };
    let access = if asks {
        "open to clients with a certificate of the configured authorities"
    } else if address.ip().is_loopback() {
        "open to every program on this machine, and to no other machine"
    } else {
        "open to everybody who can reach this address: no credentials are asked for"
    };
    let console = format!("console at {scheme}://{address}/");
    for text in [
        &format!("listening on {scheme}://{address}"),
        &data,
        access,
        &console,
    ] {
        drop(output::line(text));
    }
    tracing::info!(%address, %data, "serving");
}

/// The two signals that mean stop.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn watch(mut signals: Signals, until_stdin_ends: bool, stop: Stop) {
    let first = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!("draining; a second signal ends at once");
        if !first.is_asked() {
            first.ask();
        }
        signals.next().await;
        tracing::warn!("ended at once");
        std::process::exit(1);
    });
    if until_stdin_ends {
        tokio::spawn(async move {
            // Any end of it, also an error, means that the starter is gone.
            let ended = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
            tracing::info!(is_clean = ended.is_ok(), "standard input ended");
            if !stop.is_asked() {
                stop.ask();
            }
        });
    }
}
