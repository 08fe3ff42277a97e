//! CloudEvents 1.0 over HTTP: events in, structured, binary and in batches, and envelopes out as
//! events. What an event is and whether it fits its envelope is `protocol::cloudevents`.

use super::body::read_whole;
use super::call::{Answer, Call, set_header, typed};
use super::messages;
use super::problem::{self, bad_request};
use super::query::Query;
use super::rendering::As;
use super::subscriptions::below;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use broker::{Delivery, Entry, Handle, Published, Submission, label};
use protocol::cloudevents::{self, Context, Data, DataForm, Event};
use protocol::json::{Kind, Limits, Value, read};
use protocol::{Code, DialectName, Fault, Rejection};
use std::fmt::Write as _;
use tokio::sync::mpsc;

/// The media type of one event in its JSON form.
pub(crate) const EVENT: &str = "application/cloudevents+json";
/// The media type of a list of events.
pub(crate) const BATCH: &str = "application/cloudevents-batch+json";

/// Bytes of attributes beside an envelope.
const ATTRIBUTES_BYTES_MAX: usize = 64 << 10;

/// Events handed over at once.
const TOGETHER_MAX: usize = 256;

/// How an answer carries envelopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As they are.
    #[default]
    Envelope,
    /// In that dialect.
    In(DialectName),
    /// As events in their JSON form.
    Structured(DataForm),
    /// The envelope as the body, the attributes as headers.
    Binary,
}

impl Shape {
    /// From `as=` and `data=`, or from `Accept`.
    pub(crate) fn wanted(query: &mut Query, headers: &HeaderMap) -> Result<Self, Rejection> {
        let parse = |word: &str| match word {
            "envelope" | "native" => Some(Self::Envelope),
            "cloudevents" => Some(Self::Structured(DataForm::Json)),
            "cloudevents-binary" => Some(Self::Binary),
            _ => DialectName::parse(word).map(Self::In),
        };
        let expected = "native, aee, aep, uai, cloudevents or cloudevents-binary";
        let named = query.word("as", parse, expected)?;
        let form = query.word("data", DataForm::parse, "json or base64")?;
        let shape = named.unwrap_or_else(|| {
            if is_accepted(headers) {
                Self::Structured(DataForm::Json)
            } else {
                Self::Envelope
            }
        });
        match (shape, form) {
            (Self::Structured(_), Some(form)) => Ok(Self::Structured(form)),
            (shape, None) => Ok(shape),
            (Self::Envelope | Self::In(_) | Self::Binary, Some(_)) => Err(bad_request(
                "/data",
                "expected `data` only with events in their JSON form",
            )),
        }
    }

    /// As [`Self::wanted`], where an answer has room for several.
    pub(crate) fn of_many(query: &mut Query, headers: &HeaderMap) -> Result<Many, Rejection> {
        match Self::wanted(query, headers)? {
            Self::Envelope => Ok(Many::Envelopes(None)),
            Self::In(dialect) => Ok(Many::Envelopes(Some(dialect))),
            Self::Structured(form) => Ok(Many::Events(form)),
            Self::Binary => Err(bad_request(
                "/as",
                "expected `as` to be native, aee, aep, uai or cloudevents: the binary form has one event in an answer",
            )),
        }
    }
}

/// How an answer carries several envelopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Many {
    /// As they are, or in one dialect.
    Envelopes(As),
    /// As events.
    Events(DataForm),
}

/// Whether the caller asks for events by media type.
fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let is_refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").map(str::parse::<f32>);
            weight.is_some_and(|weight| weight.is_ok_and(|weight| weight <= 0.0))
        });
        (essence.eq_ignore_ascii_case(EVENT) || essence.eq_ignore_ascii_case(BATCH)) && !is_refused
    })
}

/// Whether a request carries an event in binary form.
pub(crate) fn is_binary(headers: &HeaderMap) -> bool {
    headers.contains_key("ce-specversion")
}

/// Publishes the envelope of one event in its JSON form.
pub(crate) async fn publish_structured(call: Call) -> Answer {
    let rules = call.door.handle.rules();
    let max = encoded(rules.envelope_bytes_max).saturating_add(ATTRIBUTES_BYTES_MAX);
    let body = read_whole(call.body, max, call.door.settings.body_wait()).await?;
    let taken = {
        let document = read(&body, limits(max, rules.depth_max.saturating_add(1)))?;
        take(&call.door.handle, &body, document.root())
    };
    let taken = count(&call.door.handle, taken)?;
    let receipt = call
        .peer
        .handle
        .publish(taken.header, taken.envelope, taken.warnings)
        .await?;
    Ok(messages::accepted(&receipt))
}

/// Publishes a body whose attributes are headers.
pub(crate) async fn publish_binary(call: Call) -> Answer {
    let (max, wait) = (
        call.door.envelope_bytes_max(),
        call.door.settings.body_wait(),
    );
    let event = event_of(&call.parts.headers);
    let envelope = read_whole(call.body, max, wait).await?;
    let handle = &call.door.handle;
    let taken = event
        .map_err(|refused| ("none", refused))
        .and_then(|event| compare(handle, &event, envelope, ""));
    let taken = count(handle, taken)?;
    let receipt = call
        .peer
        .handle
        .publish(taken.header, taken.envelope, taken.warnings)
        .await?;
    Ok(messages::accepted(&receipt))
}

/// The attributes in headers.
fn event_of(headers: &HeaderMap) -> Result<Event, Rejection> {
    let mut found = Vec::new();
    for (name, value) in headers {
        let Some(name) = name.as_str().strip_prefix("ce-") else {
            continue;
        };
        let Some(text) = cloudevents::decode_header(value.as_bytes()) else {
            let detail = format!("expected percent-encoded UTF-8 in the header `ce-{name}`");
            return Err(bad_request(&format!("/{name}"), detail));
        };
        if found.iter().any(|(known, _)| known == name) {
            let detail = format!("expected the header `ce-{name}` once");
            return Err(bad_request(&format!("/{name}"), detail));
        }
        found.push((name.to_owned(), text));
    }
    let media = headers.get(header::CONTENT_TYPE);
    let media = media.and_then(|value| value.to_str().ok());
    cloudevents::binary(found, media.unwrap_or_default())
}

/// Publishes a list of events; answers one result for each, in order, as lines do.
pub(crate) async fn publish_batch(call: Call) -> Answer {
    let rules = call.door.handle.rules();
    let max = call.door.settings.event_batch_bytes_max;
    let body = read_whole(call.body, max, call.door.settings.body_wait()).await?;
    let handle = &call.door.handle;
    let taken: Vec<Taking> = {
        let document = read(&body, limits(max, rules.depth_max.saturating_add(2)))?;
        let root = document.root();
        if root.kind() != Kind::Array {
            let got = root.kind().as_str();
            return Err(bad_request(
                "",
                format!("expected a list of events, got {got}"),
            ));
        }
        root.items()
            .map(|event| take(handle, &body, event))
            .collect()
    };
    let mut results: Vec<Option<(&'static str, Published)>> = Vec::new();
    let (submit, mut published) = mpsc::unbounded_channel();
    let mut together = Vec::new();
    for (number, taken) in (0..).zip(taken) {
        match taken {
            Ok(taken) => {
                results.push(None);
                together.push(Submission {
                    number,
                    header: taken.header,
                    envelope: taken.envelope,
                    warnings: taken.warnings,
                });
            }
            Err((dialect, refused)) => results.push(Some((dialect, Err(refused)))),
        }
        if together.len() >= TOGETHER_MAX {
            let together = std::mem::take(&mut together);
            call.peer.handle.submit(together, &submit).await;
        }
    }
    call.peer.handle.submit(together, &submit).await;
    drop(submit);
    while let Some((number, result)) = published.recv().await {
        let result = result.and_then(|receipt| handle.complete(receipt));
        let dialect = result
            .as_ref()
            .map_or("none", |receipt| receipt.header.dialect.as_str());
        let at = usize::try_from(number).ok();
        if let Some(slot) = at.and_then(|at| results.get_mut(at)) {
            *slot = Some((dialect, result));
        }
    }
    let mut out = String::from("{\"results\":[");
    for (at, result) in results.into_iter().enumerate() {
        // None is left without a result but by an exchange that is gone.
        let (dialect, result) = result.unwrap_or_else(|| ("none", Err(draining())));
        handle.count(dialect, label(&result));
        out.push_str(if at > 0 { "," } else { "" });
        let result = result.map_err(|refused| call.door.advise(refused));
        write_result(&mut out, at, &result);
    }
    out.push_str("]}");
    Ok(super::call::json(StatusCode::OK, out))
}

fn write_result(out: &mut String, at: usize, result: &Published) {
    match result {
        Ok(receipt) => {
            let status = if receipt.duplicate {
                "duplicate"
            } else {
                "accepted"
            };
            let _ = write!(out, "{{\"status\":\"{status}\",\"receipt\":");
            receipt.write_json(out);
        }
        Err(refused) => {
            out.push_str("{\"status\":\"refused\",\"fault\":");
            problem::write(out, refused, &format!("/{at}"), None);
        }
    }
    out.push('}');
}

fn draining() -> Rejection {
    let detail = "expected an exchange that takes new work, got one that is gone";
    Fault::new(Code::Draining, "", "ARCHITECTURE 4", detail).into()
}

/// An envelope taken out of an event, with the dialect of what was refused.
type Taking = Result<Submission, (&'static str, Rejection)>;

/// Takes the envelope out of an event in its JSON form; `body` is the text of the event's document.
fn take(handle: &Handle, body: &Bytes, event: Value<'_>) -> Taking {
    let (event, data) = cloudevents::structured(event).map_err(|refused| ("none", refused))?;
    let pointer = data.pointer();
    let envelope = match data {
        Data::Inside(range) => body.slice(range),
        Data::Decoded(bytes) => Bytes::from(bytes),
    };
    compare(handle, &event, envelope, pointer)
}

/// Reads the envelope and compares it with its event.
fn compare(handle: &Handle, event: &Event, envelope: Bytes, pointer: &str) -> Taking {
    let rules = handle.rules();
    if envelope.len() > rules.envelope_bytes_max {
        let refused = super::body::too_large(rules.envelope_bytes_max);
        return Err(("none", below(pointer, &refused)));
    }
    let reading = protocol::decode(&envelope, &rules);
    let dialect = reading.dialect.map_or("none", DialectName::as_str);
    let (header, warnings) = reading
        .into_result()
        .map_err(|refused| (dialect, below(pointer, &refused)))?;
    cloudevents::agrees(event, &header).map_err(|refused| (dialect, refused))?;
    Ok(Submission {
        number: 0,
        header,
        envelope,
        warnings,
    })
}

/// Counts what is refused before the exchange sees it.
fn count(handle: &Handle, taken: Taking) -> Result<Submission, Rejection> {
    taken.map_err(|(dialect, refused)| {
        handle.count(dialect, refused.code().as_str());
        refused
    })
}

/// What so many bytes are in base64.
fn encoded(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

fn limits(bytes_max: usize, depth_max: usize) -> Limits {
    Limits {
        bytes_max,
        depth_max,
    }
}

fn context(handle: &Handle, entry: &Entry) -> Context {
    Context {
        at: entry.at,
        cursor: handle.cursor(entry).to_string(),
        ..Context::default()
    }
}

/// Appends the event of an entry.
pub(crate) fn write(out: &mut Vec<u8>, handle: &Handle, entry: &Entry, form: DataForm) {
    let context = context(handle, entry);
    cloudevents::write(out, &entry.header, &context, &entry.envelope, form);
}

/// The list of the events of deliveries; each names its delivery.
pub(crate) fn deliveries(handle: &Handle, deliveries: &[Delivery], form: DataForm) -> Vec<u8> {
    let mut out = vec![b'['];
    for (at, delivery) in deliveries.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        let entry = &delivery.entry;
        let context = Context {
            delivery: Some(delivery.id.to_string()),
            attempt: Some(delivery.attempt),
            ..context(handle, entry)
        };
        cloudevents::write(&mut out, &entry.header, &context, &entry.envelope, form);
    }
    out.push(b']');
    out
}

/// The answer that is one message.
pub(crate) fn answer(handle: &Handle, entry: &Entry, shape: Shape) -> Answer {
    if let Shape::Structured(form) = shape {
        let mut out = Vec::with_capacity(entry.envelope.len() + 512);
        write(&mut out, handle, entry, form);
        return Ok(typed(StatusCode::OK, EVENT, out));
    }
    let wanted = match shape {
        Shape::In(dialect) => Some(dialect),
        Shape::Envelope | Shape::Structured(_) | Shape::Binary => None,
    };
    let shown = entry.shown_in(wanted);
    if let Some(fault) = shown.untranslated {
        return Err(fault.clone().into());
    }
    let envelope = shown.envelope.clone();
    let mut response = typed(StatusCode::OK, "application/json", envelope);
    if shape == Shape::Binary {
        for attribute in cloudevents::attributes(&entry.header, &context(handle, entry)) {
            if attribute.name == "datacontenttype" {
                continue;
            }
            let name = HeaderName::from_bytes(format!("ce-{}", attribute.name).as_bytes());
            let value = HeaderValue::from_str(&cloudevents::encode_header(&attribute.value));
            if let (Ok(name), Ok(value)) = (name, value) {
                response.headers_mut().insert(name, value);
            }
        }
    }
    set_header(&mut response, "vary", "accept");
    Ok(response)
}
