//! `/v1/validate`: the verdict on envelopes, without publishing them.

use super::body::{Media, read_whole};
use super::call::{Answer, Call, json, typed};
use super::door::Door;
use super::lines::Lines;
use super::output;
use super::problem::bad_request;
use super::query::Query;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use protocol::verdict::write_verdict;
use protocol::{AeePolicy, DialectName, Mode, Reading, Rejection, Rules, Timestamp, dialect};
use std::sync::Arc;

/// How to read what is sent.
struct Ask {
    rules: Rules,
    dialect: Option<DialectName>,
}

impl Ask {
    fn read(mut query: Query, mut rules: Rules) -> Result<Self, Rejection> {
        if let Some(word) = query.take("mode")? {
            rules.mode =
                Mode::parse(&word).ok_or_else(|| unknown("mode", "strict, lenient", &word))?;
        }
        if let Some(word) = query.take("policy")? {
            rules.aee_policy = AeePolicy::parse(&word)
                .ok_or_else(|| unknown("policy", "repo, seed, both, either, log", &word))?;
        }
        let dialect = match query.take("dialect")? {
            Some(word) => Some(
                DialectName::parse(&word)
                    .ok_or_else(|| unknown("dialect", "aee, aep, uai", &word))?,
            ),
            None => None,
        };
        if let Some(text) = query.take("now")? {
            let (moment, _) = Timestamp::parse_rfc3339(&text)
                .ok_or_else(|| unknown("now", "a time of RFC 3339", &text))?;
            rules.now = moment;
        }
        query.finish()?;
        Ok(Self { rules, dialect })
    }

    fn verdict(&self, out: &mut String, envelope: &[u8]) {
        let reading = match self.dialect {
            Some(name) => dialect::decode_as(envelope, name, &self.rules),
            None => protocol::decode(envelope, &self.rules),
        };
        write_verdict(out, &reading);
    }
}

pub(crate) async fn validate(call: Call) -> Answer {
    let ask = Ask::read(call.query()?, call.door.handle.rules())?;
    match Media::of(&call.parts.headers)? {
        Media::Json | Media::Event | Media::Events => {
            let (max, wait) = (
                call.door.envelope_bytes_max(),
                call.door.settings.body_wait(),
            );
            let envelope = read_whole(call.body, max, wait).await?;
            let mut verdict = String::new();
            ask.verdict(&mut verdict, &envelope);
            Ok(json(StatusCode::OK, verdict))
        }
        Media::Lines => Ok(typed(
            StatusCode::OK,
            "application/x-ndjson",
            start(&call.door, ask, call.body),
        )),
    }
}

/// One verdict a line, written while the lines still come.
fn start(door: &Arc<Door>, ask: Ask, body: Body) -> Body {
    let (output, answer) = output::channel(door.settings.unread_results_bytes_max);
    let mut lines = Lines::of(
        body,
        door.envelope_bytes_max(),
        door.settings.ndjson_bytes_max,
    );
    let end = door.end.clone();
    door.tasks.spawn(async move {
        let work = async {
            loop {
                let mut out = String::new();
                // Few at a time, so that a large body does not keep a thread from its other work.
                for line in std::iter::from_fn(|| lines.ready()).take(16) {
                    match line.content {
                        Ok(envelope) => ask.verdict(&mut out, &envelope),
                        Err(rejection) => {
                            let faults = rejection.all().cloned().collect();
                            write_verdict(
                                &mut out,
                                &Reading {
                                    faults,
                                    ..Reading::default()
                                },
                            );
                        }
                    }
                    out.push('\n');
                }
                if out.is_empty() {
                    if lines.has_ended() {
                        return;
                    }
                    lines.more().await;
                } else {
                    if !output.send(Bytes::from(out)).await {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            }
        };
        tokio::select! {
            () = work => {}
            () = output.closed() => {}
            () = end.cancelled() => {}
        }
    });
    answer
}

fn unknown(name: &str, known: &str, got: &str) -> Rejection {
    bad_request(
        &format!("/{name}"),
        format!("expected `{name}` to be one of {known}, got {got:?}"),
    )
}
