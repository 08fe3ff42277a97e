//! Logs: structured lines on standard error, so that standard output stays for results.

use crate::output::note;
use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts logging what `filter` lets pass, as text or as one JSON object a line.
///
/// # Errors
/// A sentence when the filter cannot be read.
pub fn start(filter: &str, is_json: bool) -> Result<(), String> {
    // The MCP library logs each of its sessions; what concerns us we log ourselves. A filter that
    // names it comes later and wins.
    let parsed = EnvFilter::try_new(format!("rmcp=off,{filter}"))
        .map_err(|error| format!("expected a log filter such as info, got {filter:?}: {error}"))?;
    let registry = tracing_subscriber::registry().with(parsed);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let started = if is_json {
        registry.with(layer.json()).try_init()
    } else {
        let has_colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        registry
            .with(layer.with_ansi(has_colour).compact())
            .try_init()
    };
    if let Err(error) = started {
        note(&format!("logging was started before: {error}"));
    }
    Ok(())
}
