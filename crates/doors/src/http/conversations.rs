//! `/v1/conversations/{id}`: the trace of a conversation, in four forms.

use super::call::{Answer, Call, set_header, typed};
use super::messages::NEXT_CURSOR;
use super::output::{self, Output};
use super::problem::bad_request;
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use broker::{By, From, Handle, OnGap, Trace, TraceQuery, TraceStyle};
use protocol::{Party, Rejection};
use std::fmt;

/// Messages in a trace when the caller does not say.
const LIMIT_DEFAULT: u64 = 10_000;

/// Bytes after which a piece of the body is sent on.
const CHUNK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
enum Format {
    Json,
    Text(TraceStyle),
    Mermaid,
    Dot,
}

impl Format {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Text(_) => "text/plain; charset=utf-8",
            Self::Mermaid => "text/vnd.mermaid; charset=utf-8",
            Self::Dot => "text/vnd.graphviz; charset=utf-8",
        }
    }
}

pub(crate) async fn conversation(call: Call) -> Answer {
    let mut query = call.query()?;
    let format = format(query.take("format")?, query.take("colour")?)?;
    let by = by(query.take("by")?)?;
    let sender = query.take("sender")?.map(|text| Party::parse(&text));
    let from = query
        .take("from")?
        .map_or(From::Earliest, |text| From::parse(&text));
    let limit_max = call.door.settings.trace_max as u64;
    let limit = query.number("limit", LIMIT_DEFAULT.min(limit_max), 1..=limit_max)?;
    query.finish()?;
    let handle = call.peer.handle.clone();
    let after = match from {
        // Nothing is before it, also when the oldest messages are no longer kept.
        From::Earliest => 0,
        from => handle.position(&from, OnGap::Fail).await?,
    };
    let query = TraceQuery {
        text: call.param("id").into(),
        by,
        sender,
        after,
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let trace = handle.trace(query).await?;
    let next = trace.next().map(|after| handle.cursor_at(after));
    let (output, body) = output::channel(call.door.settings.reader_bytes_max);
    // Written piece by piece as the reader takes it.
    tokio::task::spawn_blocking(move || write(&handle, &trace, format, output));
    let mut response = typed(StatusCode::OK, format.media_type(), body);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(next) = next {
        set_header(&mut response, NEXT_CURSOR, &next.to_string());
    }
    Ok(response)
}

fn format(format: Option<String>, colour: Option<String>) -> Result<Format, Rejection> {
    let is_coloured = match colour.as_deref() {
        None | Some("none") => false,
        Some("ansi") => true,
        Some(other) => {
            let detail = format!("expected `colour` to be none or ansi, got {other:?}");
            return Err(bad_request("/colour", detail));
        }
    };
    match format.as_deref() {
        None | Some("json") => Ok(Format::Json),
        Some("text") => Ok(Format::Text(TraceStyle { is_coloured })),
        Some("mermaid") => Ok(Format::Mermaid),
        Some("dot") => Ok(Format::Dot),
        Some(other) => {
            let detail =
                format!("expected `format` to be json, text, mermaid or dot, got {other:?}");
            Err(bad_request("/format", detail))
        }
    }
}

fn by(word: Option<String>) -> Result<Option<By>, Rejection> {
    let Some(word) = word else { return Ok(None) };
    By::parse(&word).map(Some).ok_or_else(|| {
        let detail =
            format!("expected `by` to be conversation, message, task or correlation, got {word:?}");
        bad_request("/by", detail)
    })
}

fn write(handle: &Handle, trace: &Trace, format: Format, output: Output) {
    let mut pieces = Pieces {
        output,
        text: String::with_capacity(2 * CHUNK_BYTES),
    };
    let cursor = |sequence| handle.cursor_at(sequence).to_string();
    let written = match format {
        Format::Json => trace.write_json(&mut pieces, &cursor),
        Format::Text(style) => trace.write_text(&mut pieces, style),
        Format::Mermaid => trace.write_mermaid(&mut pieces),
        Format::Dot => trace.write_dot(&mut pieces),
    };
    // An error means that the reader has gone.
    let _ = written.and_then(|()| pieces.send());
}

/// Text on its way out, in pieces of a good size.
struct Pieces {
    output: Output,
    text: String,
}

impl Pieces {
    fn send(&mut self) -> fmt::Result {
        let piece = Bytes::copy_from_slice(self.text.as_bytes());
        self.text.clear();
        let is_taken = tokio::runtime::Handle::current().block_on(self.output.send(piece));
        if is_taken { Ok(()) } else { Err(fmt::Error) }
    }
}

impl fmt::Write for Pieces {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        if self.text.len() >= CHUNK_BYTES {
            self.send()?;
        }
        Ok(())
    }
}
