//! `inbox` and `ack`: taking what waits for the party, and saying what became of it.

use super::arguments::Arguments;
use super::progress::Progress;
use super::{Exchange, Refusal, Settling, summary};
use protocol::Party;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, interval_at};

/// Deliveries in one call when the caller does not say, and most of them.
const COUNT_DEFAULT: u64 = 5;
pub(super) const COUNT_MAX: u64 = 100;

/// Longest wait, in milliseconds.
pub(super) const WAIT_MS_MAX: u64 = 3_600_000;

/// One pull waits no longer than the exchange allows; the wait goes on with the next.
const PULL_WAIT: Duration = Duration::from_secs(20);

/// A pull that comes back with nothing before this did not wait.
const EARLY: Duration = Duration::from_millis(500);

/// How often a host is told that nothing has come yet.
const STILL_WAITING: Duration = Duration::from_secs(5);

/// Deliveries settled in one call.
pub(super) const SETTLED_MAX: usize = 100;

/// Longest delay of another attempt, in milliseconds: a day.
pub(super) const DELAY_MS_MAX: u64 = 86_400_000;

pub(super) async fn run(
    mut arguments: Arguments,
    exchange: &impl Exchange,
    party: &Party,
    mut progress: Progress,
) -> Result<Value, Refusal> {
    let max = arguments.number("max", COUNT_DEFAULT, 1..=COUNT_MAX);
    let wait = Duration::from_millis(arguments.number("wait_ms", 0, 0..=WAIT_MS_MAX));
    arguments.finish()?;
    let max = usize::try_from(max).unwrap_or(1);
    let start = Instant::now();
    let mut still = interval_at(start + STILL_WAITING, STILL_WAITING);
    let delivered = loop {
        let left = wait.saturating_sub(start.elapsed());
        let began = Instant::now();
        let mut pull = std::pin::pin!(exchange.pull(party.as_str(), max, left.min(PULL_WAIT)));
        let pulled = loop {
            tokio::select! {
                pulled = pull.as_mut() => break pulled,
                _ = still.tick(), if progress.is_wanted() => {
                    let waited = start.elapsed();
                    let part = waited.as_secs_f64() / wait.as_secs_f64().max(0.001);
                    let text = format!("nothing yet after {} s", waited.as_secs());
                    progress.tell(Some(part.min(1.0)), text).await;
                }
            }
        }?;
        if !pulled.is_empty() || start.elapsed() >= wait {
            break pulled;
        }
        if began.elapsed() < EARLY {
            // An exchange that shuts down answers at once; it is asked again gently.
            tokio::time::sleep(EARLY).await;
        }
    };
    let now = exchange.now();
    let messages: Vec<Value> = delivered
        .into_iter()
        .map(|one| {
            let mut message = summary::of(&one.envelope, now);
            message.insert("delivery".into(), one.delivery.into());
            message.insert("attempt".into(), one.attempt.into());
            message.insert("lease_until".into(), one.lease_until.into());
            message.insert("cursor".into(), one.cursor.into());
            message.into()
        })
        .collect();
    Ok(json!({ "party": party.as_str(), "messages": messages }))
}

pub(super) async fn ack(
    mut arguments: Arguments,
    exchange: &impl Exchange,
) -> Result<Value, Refusal> {
    let deliveries = arguments.texts("deliveries", SETTLED_MAX);
    let verdict = arguments.word("verdict", &["ack", "nack", "reject"]);
    let reason = arguments.text("reason");
    let delay = arguments
        .has("retry_after_ms")
        .then(|| arguments.number("retry_after_ms", 0, 0..=DELAY_MS_MAX));
    if deliveries.is_empty() {
        arguments.refuse(
            "deliveries",
            "expected `deliveries` to name at least one".into(),
        );
    }
    arguments.finish()?;
    let reason = reason.unwrap_or_default();
    let how = match verdict {
        Some("nack") => Settling::Nack {
            retry_after_ms: delay,
            reason,
        },
        Some("reject") => Settling::Reject { reason },
        _ => Settling::Ack,
    };
    let outcomes = exchange.settle(deliveries.clone(), how).await?;
    let results: Vec<Value> = deliveries
        .iter()
        .zip(outcomes)
        .map(|(delivery, outcome)| match outcome {
            Ok(()) => json!({ "delivery": delivery, "ok": true }),
            Err(refusal) => json!({ "delivery": delivery, "ok": false, "fault": refusal.0 }),
        })
        .collect();
    Ok(json!({ "results": results }))
}
