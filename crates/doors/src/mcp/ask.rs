//! `ask`: a request goes out, and its reply comes back.

use super::arguments::Arguments;
use super::compose::{Purpose, compose};
use super::progress::Progress;
use super::{Exchange, Refusal, summary};
use protocol::Party;
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a reply is waited for when the caller does not say, in milliseconds.
const WAIT_DEFAULT_MS: u64 = 60_000;

/// Longest wait, in milliseconds.
pub(super) const WAIT_MS_MAX: u64 = 3_600_000;

/// Envelopes on their way that are not told yet.
const UNTOLD_MAX: usize = 64;

pub(super) async fn run(
    mut arguments: Arguments,
    exchange: &impl Exchange,
    party: &Party,
    mut progress: Progress,
) -> Result<Value, Refusal> {
    let timeout = arguments.number("timeout_ms", WAIT_DEFAULT_MS, 1..=WAIT_MS_MAX);
    let envelope = compose(&mut arguments, exchange, party, Purpose::Ask);
    arguments.finish()?;
    let envelope = envelope?;
    let (tell, mut told) = mpsc::channel(UNTOLD_MAX);
    let asking = exchange.ask(
        envelope.clone().into(),
        Duration::from_millis(timeout),
        tell,
    );
    let mut asking = pin!(asking);
    let ended = loop {
        tokio::select! {
            ended = asking.as_mut() => break ended,
            Some(envelope) = told.recv() => {
                let line = summary::line(&envelope, exchange.now());
                progress.tell(summary::fraction(&envelope), line).await;
            }
        }
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(mut refusal) => {
            // With the bytes a caller can ask again, and waits for the same task.
            if let Some(problem) = refusal.0.as_object_mut() {
                problem.insert("asked".into(), envelope.into());
            }
            return Err(refusal);
        }
    };
    Ok(json!({
        "task": ended.task,
        "state": ended.state,
        "cursor": ended.cursor,
        "receipt": ended.receipt,
        "reply": summary::of(&ended.envelope, exchange.now()),
    }))
}
