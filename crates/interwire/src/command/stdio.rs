//! `interwire stdio`: an AEP session over standard input and output, one event a line.

use super::config::Source;
use super::serve::{Signals, claim};
use crate::failure::{Answer, Failure};
use crate::identity::now;
use crate::{logging, output};
use broker::{Broker, Durability};
use doors::http::Stop;
use doors::session::{Host, LineFrames, SessionSettings, run as serve};
use futures_util::{SinkExt as _, StreamExt as _};
use protocol::dialect::aep::Aep;
use protocol::json::push_string;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire stdio --url http://127.0.0.1:4747
  interwire stdio --data interwire-data
  interwire stdio < events.ndjson")]
pub struct Arguments {
    /// A running exchange
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    url: Option<String>,
    /// An exchange of its own on this folder; without it and without --url, in memory
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    #[command(flatten)]
    source: Source,
}

/// Runs until standard input ends.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let plan = arguments
        .source
        .settle(super::data_flag(arguments.data.as_deref()))?
        .plan;
    logging::start(&plan.log, plan.log_json).map_err(Failure::Usage)?;
    if let Some(url) = &arguments.url {
        return bridge(url).await;
    }
    let mut plan = plan;
    if arguments.data.is_none() {
        plan.broker.durability = Durability::Memory;
    }
    let _lock = claim(&mut plan)?;
    let mut signals = Signals::new()?;
    let line_bytes_max = plan.broker.rules.envelope_bytes_max;
    let broker = Broker::open(plan.broker, client::chance::bits())
        .map_err(|error| Failure::Refused(error.to_string()))?;
    let stop = Stop::new();
    let settings = SessionSettings {
        transports: vec!["stdio"],
        heartbeat_ms: plan.http.session_heartbeat_ms,
        resume_ms: plan.http.session_resume_ms,
        subscriptions_max: plan.http.socket_readers_max,
        in_flight_max: plan.http.in_flight_max,
        drain_retry_ms: plan.http.drain_retry_ms,
        ..SessionSettings::default()
    };
    let host = Host::new(broker.handle(), settings, stop.clone());
    host.recall().await;
    let frames = LineFrames::new(tokio::io::stdin(), tokio::io::stdout(), line_bytes_max);
    let handle = broker.handle().connection();
    let is_clean = tokio::select! {
        is_clean = serve(host, handle, &[], frames) => is_clean,
        () = signals.next() => {
            stop.ask();
            true
        }
    };
    broker.close().await;
    if is_clean {
        Ok(Answer::Yes)
    } else {
        Err(Failure::Refused("the session ended with an error".into()))
    }
}

/// Lines to and from the WebSocket of a running exchange.
async fn bridge(url: &str) -> Result<Answer, Failure> {
    let url = url.trim_end_matches('/');
    let address = url.replacen("http", "ws", 1) + "/harmovela";
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Refused(format!("no session with {address}: {error}"))
    };
    let mut request = address
        .as_str()
        .into_client_request()
        .map_err(|error| failed(&error))?;
    let protocol = subprotocol();
    request
        .headers_mut()
        .insert("sec-websocket-protocol", protocol);
    let (socket, _) = connect_async(request)
        .await
        .map_err(|error| failed(&error))?;
    let (mut out, mut into) = socket.split();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut open: Option<(String, String)> = None;
    let mut last: Option<String> = None;
    loop {
        tokio::select! {
            line = lines.next_line(), if last.is_none() => match line.ok().flatten() {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => out.send(Message::text(line)).await.map_err(|error| failed(&error))?,
                None => {
                    // Answers come in order: when this one is there, all are.
                    let (id, ask) = last_question();
                    out.send(Message::text(ask)).await.map_err(|error| failed(&error))?;
                    last = Some(id);
                }
            },
            frame = into.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    let event = said(&text);
                    if let Some((kind, event)) = &event {
                        let text = |at: &str| Some(event.pointer(at)?.as_str()?.to_owned());
                        if last.is_some() && text("/causation_id") == last {
                            let Some((session, source)) = open.take() else {
                                drop(out.close().await);
                                return Ok(Answer::Yes);
                            };
                            let (id, ask) = last_question();
                            let close = end_of_input(&session, &source);
                            for text in [close, ask] {
                                out.send(Message::text(text)).await.map_err(|error| failed(&error))?;
                            }
                            last = Some(id);
                            continue;
                        }
                        match &**kind {
                            "session.ready" => {
                                open = text("/payload/session_id").zip(text("/target"));
                            }
                            "session.closed" | "session.error" => open = None,
                            _ => {}
                        }
                    }
                    output::line(&text.replace(['\n', '\r'], " "))?;
                }
                Some(Ok(Message::Close(frame))) => {
                    let why = frame.map_or_else(String::new, |frame| frame.reason.to_string());
                    return Err(failed(&format!("closed by the exchange ({why})")));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(failed(&error)),
                None => return Err(failed(&"the connection broke")),
            },
        }
    }
}

/// The type and the whole of an event that the exchange itself says.
fn said(text: &str) -> Option<(String, serde_json::Value)> {
    if !text.contains("\"source\":\"service:interwire\"") {
        return None;
    }
    let event: serde_json::Value = serde_json::from_str(text).ok()?;
    Some((event.get("type")?.as_str()?.to_owned(), event))
}

fn subprotocol() -> tokio_tungstenite::tungstenite::http::HeaderValue {
    tokio_tungstenite::tungstenite::http::HeaderValue::from_static("harmovela-0.2")
}

/// A question whose answer says that everything before it was answered; with its id.
fn last_question() -> (String, String) {
    let id = format!("evt_{:032x}", client::chance::wide_bits());
    let ask = Aep::event("capabilities.requested", "tool:stdio").build(&id, now());
    (id, ask)
}

/// `session.closed` of a session that its input left open.
fn end_of_input(session: &str, source: &str) -> String {
    let mut payload = String::from("{\"session_id\":");
    push_string(&mut payload, session);
    payload.push_str(",\"reason\":\"end_of_input\"}");
    let id = format!("evt_{:032x}", client::chance::wide_bits());
    let close = Aep::event("session.closed", source).payload_json(&payload);
    close.session(session).build(&id, now())
}
