//! Waiting for what the exchange and a bus make of messages.

use crate::process::Exchange;
use crate::raw::{get, within};
use std::time::Duration;

/// How long a foreign reader waits for what must come, in milliseconds.
pub const FOLLOWS: u64 = 20_000;

/// Waits until the exchange reads and writes there.
pub async fn is_up(exchange: &Exchange, bus: &str) {
    metric(exchange, &format!("interwire_bus_up{{bus=\"{bus}\"}}"), 1).await;
}

/// Waits until a metric has at least this value.
pub async fn metric(exchange: &Exchange, name: &str, least: u64) {
    within(async {
        while value(exchange, name).await < least {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

pub async fn value(exchange: &Exchange, name: &str) -> u64 {
    let text = get(&exchange.url, "/metrics").await.text();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

/// The message's bytes, once it is there.
pub async fn arrives(exchange: &Exchange, id: &str) -> String {
    let client = exchange.client();
    within(async {
        loop {
            if let Ok(message) = client.message(id, None).await {
                return String::from_utf8(message.envelope.to_vec()).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}
