//! Connecting to NATS, and looking whether it is there.

use super::super::{Link, NatsSettings, link};
use super::ANSWER_WAIT;
use async_nats::jetstream::{self, context::ContextBuilder};
use async_nats::{Client, ConnectOptions, Event};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What is found at the address.
pub(crate) async fn reach(settings: &NatsSettings, wait: Duration) -> Result<String, String> {
    let options = options(settings).await?.connection_timeout(wait);
    let connecting = options.connect(servers(settings));
    let client = match tokio::time::timeout(wait, connecting).await {
        Ok(Ok(client)) => client,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err(format!("no answer within {} ms", wait.as_millis())),
    };
    let version = client.server_info().version;
    if !settings.jetstream {
        return Ok(format!("NATS {version}, without JetStream"));
    }
    // As text: what it says differs from version to version.
    let asked = client.request("$JS.API.INFO", Bytes::new()).await;
    match asked {
        Ok(answer) if !answer.payload.windows(8).any(|part| part == b"\"error\":") => {
            Ok(format!("NATS {version} with JetStream"))
        }
        Ok(_) => Err(format!(
            "NATS {version} has no JetStream for this account; set nats.jetstream to false"
        )),
        Err(error) => Err(format!(
            "NATS {version} answers, JetStream does not ({error}); start it with -js, or set \
             nats.jetstream to false"
        )),
    }
}

fn servers(settings: &NatsSettings) -> Vec<String> {
    settings.bus.url.split(',').map(str::to_owned).collect()
}

async fn options(settings: &NatsSettings) -> Result<ConnectOptions, String> {
    let options = ConnectOptions::new().name("interwire").no_echo();
    if settings.credentials.is_empty() {
        return Ok(options);
    }
    let with_file = options.credentials_file(&settings.credentials).await;
    with_file.map_err(|error| format!("nats.credentials: {}: {error}", settings.credentials))
}

pub(super) fn context(client: &Client) -> jetstream::Context {
    ContextBuilder::new()
        .timeout(ANSWER_WAIT)
        .ack_timeout(ANSWER_WAIT)
        .max_ack_inflight(1_024)
        .backpressure_on_inflight(true)
        .build(client.clone())
}

/// Counts the connections that came about.
pub(super) type Connections = Arc<watch::Sender<u64>>;

/// A client that joins the server whenever it is there; none when the exchange stops before it could even
/// try.
pub(super) async fn connect_until_stop(
    settings: &NatsSettings,
    link: &Link,
    connections: &Connections,
) -> Option<Client> {
    let mut failures = 0;
    loop {
        match connect(settings, link, connections).await {
            Ok(client) => return Some(client),
            Err(why) => {
                link.down(&why);
                failures += 1;
                if !link.rest(failures).await {
                    return None;
                }
            }
        }
    }
}

async fn connect(
    settings: &NatsSettings,
    link: &Link,
    connections: &Connections,
) -> Result<Client, String> {
    let events = (link.clone(), Arc::clone(connections));
    options(settings)
        .await?
        .retry_on_initial_connect()
        .reconnect_delay_callback(|failures| link::backoff(u32::try_from(failures).unwrap_or(99)))
        .event_callback(move |event| {
            let (link, connections) = events.clone();
            async move {
                match event {
                    Event::Connected => {
                        connections.send_modify(|count| *count += 1);
                        link.up();
                    }
                    Event::Disconnected | Event::Closed => link.down(&event),
                    Event::LameDuckMode
                    | Event::Draining
                    | Event::SlowConsumer(_)
                    | Event::ServerError(_)
                    | Event::ClientError(_) => {
                        tracing::debug!(bus = "nats", %event, "told by the client");
                    }
                }
            }
        })
        .connect(servers(settings))
        .await
        .map_err(|error| error.to_string())
}
