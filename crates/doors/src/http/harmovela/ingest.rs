//! `POST /harmovela/events` and `/aep/events`: one event or many as lines, with a result for each
//! (AEP 9.3).

use crate::http::call::{Answer, Call, json};
use crate::http::lines::Lines;
use axum::http::{StatusCode, header};
use broker::{Published, Submission, label};
use protocol::dialect::aep::words;
use protocol::json::push_string;
use protocol::{DialectName, Rejection};
use std::fmt::Write as _;
use tokio::sync::mpsc;

/// Lines handed over at once.
const TOGETHER_MAX: usize = 256;

/// One line and what became of it.
type Line = (&'static str, Option<Published>);

/// 202 with `{"accepted","rejected","errors":[{"event_index","error"}],"results":[...]}`; 400 when no line
/// was accepted.
pub(crate) async fn ingest(call: Call) -> Answer {
    call.door.refuse_late()?;
    let mut query = call.query()?;
    let _ = query.take("session_id")?;
    query.finish()?;
    let media = call.parts.headers.get(header::CONTENT_TYPE);
    let is_one = media
        .and_then(|media| media.to_str().ok())
        .is_some_and(|media| {
            media
                .trim()
                .to_ascii_lowercase()
                .starts_with("application/json")
        });
    let (door, peer) = (call.door.clone(), call.peer.clone());
    let (submit, mut results) = mpsc::unbounded_channel();
    let mut lines: Vec<Line> = Vec::new();
    let mut together = Vec::new();
    let take = |content: Result<bytes::Bytes, Rejection>, lines: &mut Vec<Line>| {
        let number = lines.len() as u64;
        let read = content.and_then(|envelope| {
            let reading = protocol::decode(&envelope, &door.handle.rules());
            let dialect = reading.dialect.map_or("none", DialectName::as_str);
            let (header, warnings) = reading.into_result()?;
            Ok((
                dialect,
                Submission {
                    number,
                    header,
                    envelope,
                    warnings,
                },
            ))
        });
        match read {
            Ok((dialect, submission)) => {
                lines.push((dialect, None));
                Some(submission)
            }
            Err(refused) => {
                lines.push(("none", Some(Err(refused))));
                None
            }
        }
    };
    if is_one {
        let (max, wait) = (door.envelope_bytes_max(), door.settings.body_wait());
        let body = crate::http::body::read_whole(call.body, max, wait).await;
        together.extend(take(body, &mut lines));
    } else {
        let max = door.settings.ndjson_bytes_max;
        let mut body = Lines::of(call.body, door.envelope_bytes_max(), max);
        loop {
            while let Some(line) = body.ready() {
                together.extend(take(line.content, &mut lines));
                if together.len() >= TOGETHER_MAX {
                    peer.handle
                        .submit(std::mem::take(&mut together), &submit)
                        .await;
                }
            }
            if body.has_ended() {
                break;
            }
            body.more().await;
        }
    }
    peer.handle.submit(together, &submit).await;
    drop(submit);
    while let Some((number, result)) = results.recv().await {
        let result = result.and_then(|receipt| door.handle.complete(receipt));
        if let Some(line) = usize::try_from(number)
            .ok()
            .and_then(|at| lines.get_mut(at))
        {
            line.1 = Some(result);
        }
    }
    for (dialect, result) in lines
        .iter()
        .filter_map(|(dialect, result)| Some((dialect, result.as_ref()?)))
    {
        door.handle.count(dialect, label(result));
    }
    Ok(answer(&lines))
}

fn answer(lines: &[Line]) -> axum::http::Response<axum::body::Body> {
    let (mut accepted, mut rejected) = (0_usize, 0_usize);
    let (mut errors, mut results) = (String::new(), String::new());
    for (at, (_, result)) in lines.iter().enumerate() {
        if !results.is_empty() {
            results.push(',');
        }
        match result {
            Some(Ok(receipt)) => {
                accepted += 1;
                let _ = write!(results, "{{\"event_index\":{at},\"receipt\":");
                receipt.write_json(&mut results);
                results.push('}');
            }
            Some(Err(refused)) => {
                rejected += 1;
                let mut error = format!("{{\"event_index\":{at},\"error\":");
                push_error(&mut error, refused);
                error.push('}');
                if !errors.is_empty() {
                    errors.push(',');
                }
                errors.push_str(&error);
                results.push_str(&error);
            }
            None => {
                rejected += 1;
                let _ = write!(results, "{{\"event_index\":{at}}}");
            }
        }
    }
    let status = if accepted == 0 {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::ACCEPTED
    };
    json(
        status,
        format!(
            "{{\"accepted\":{accepted},\"rejected\":{rejected},\"errors\":[{errors}],\"results\":[{results}]}}"
        ),
    )
}

fn push_error(out: &mut String, refused: &Rejection) {
    let word = words::of_code(refused.code());
    let _ = write!(out, "{{\"code\":\"{word}\",\"message\":");
    push_string(out, &refused.first().detail);
    let _ = write!(
        out,
        ",\"retryable\":{},\"details\":",
        words::is_retryable(word)
    );
    protocol::verdict::write_fault(out, refused.first());
    out.push('}');
}
