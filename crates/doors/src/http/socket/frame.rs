//! Frames of `interwire.v1`, read and written. No decision is taken here.

use crate::http::deliveries::{Settlement, Verdict, write_members};
use crate::http::inbox::{PULL_DEFAULT, Pull};
use crate::http::members::Members;
use crate::http::problem;
use crate::http::rendering::{self, As};
use crate::http::subscriptions::below;
use axum::body::Bytes;
use broker::{Cursor, Delivery, Entry, Follow, From, Gap, Handle, Mode, OnGap, PlaceName, Receipt};
use protocol::json::{Kind, Limits, Value, push_string, read as read_json};
use protocol::{Code, Fault, Filter, Party, Reading, Rejection, Rules};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Longest `ref`, in bytes as written.
const REFERENCE_BYTES_MAX: usize = 256;

/// Deliveries that a durable reader may hold unsettled when it does not say.
const IN_FLIGHT_DEFAULT: i64 = 64;

/// Deliveries that a durable reader may hold unsettled at most.
const IN_FLIGHT_MAX: i64 = 1_024;

/// The caller's name for an operation, as JSON text; empty when there is none.
pub(crate) type Reference = Arc<str>;

/// Limits of a frame that the settings decide.
#[derive(Clone, Debug)]
pub(crate) struct FrameLimits {
    pub frame_bytes_max: usize,
    pub pull_max: i64,
    pub pull_wait_ms_max: i64,
}

/// One frame from the peer.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub reference: Reference,
    pub operation: Result<Operation, Rejection>,
}

/// What the peer wants.
#[derive(Debug)]
pub(crate) enum Operation {
    Publish {
        reading: Box<Reading>,
        envelope: Bytes,
    },
    Follow {
        filter: Filter,
        from: From,
        follow: Follow,
        wanted: As,
    },
    Consume {
        place: PlaceName,
        consumer: Option<Arc<str>>,
        in_flight_max: usize,
        wanted: As,
    },
    Watch {
        task: String,
        from: Option<From>,
    },
    Unsubscribe,
    Settle(Settlement),
    Pull(Pull, As),
    /// What became of a message, once or as it happens.
    Receipt {
        id: String,
        sender: Option<Party>,
        is_watched: bool,
    },
    Ping,
}

/// Reads one text frame.
pub(crate) fn read(text: &str, rules: &Rules, limits: &FrameLimits) -> Incoming {
    // The frame is one level around the envelope.
    let json = Limits {
        bytes_max: limits.frame_bytes_max,
        depth_max: rules.depth_max + 1,
    };
    let document = match read_json(text.as_bytes(), json) {
        Ok(document) => document,
        Err(fault) => {
            return Incoming {
                reference: "".into(),
                operation: Err(fault.into()),
            };
        }
    };
    let frame = document.root();
    match reference(frame) {
        Ok(reference) => Incoming {
            reference,
            operation: operation(frame, rules, limits),
        },
        Err(refused) => Incoming {
            reference: "".into(),
            operation: Err(refused),
        },
    }
}

/// The refusal of a frame that is not an operation.
pub(crate) fn bad_frame(pointer: &str, detail: impl Into<String>) -> Rejection {
    Fault::new(Code::BadFrame, pointer, "SOCKET", detail).into()
}

fn reference(frame: Value<'_>) -> Result<Reference, Rejection> {
    match frame.get("ref") {
        None => Ok("".into()),
        Some(value) if value.kind() == Kind::String && value.raw().len() <= REFERENCE_BYTES_MAX => {
            Ok(value.raw().into())
        }
        Some(value) => {
            let detail = format!(
                "expected `ref` to be a string of at most {REFERENCE_BYTES_MAX} bytes, got {} of {}",
                value.kind().as_str(),
                value.raw().len()
            );
            Err(bad_frame("/ref", detail))
        }
    }
}

fn operation(
    frame: Value<'_>,
    rules: &Rules,
    limits: &FrameLimits,
) -> Result<Operation, Rejection> {
    if frame.kind() != Kind::Object {
        let detail = format!(
            "expected an object with `op`, got {}",
            frame.kind().as_str()
        );
        return Err(bad_frame("", detail));
    }
    let op = frame.get("op").and_then(Value::as_str);
    match op.as_deref() {
        Some("publish") => publish(frame, rules),
        Some("subscribe") => subscribe(frame),
        Some("watch") if frame.get("task").is_some() => watch_task(frame),
        Some("unsubscribe") => bare(frame, Operation::Unsubscribe),
        Some("ack") => settle(frame, Verdict::Ack),
        Some("nack") => settle(frame, Verdict::Nack),
        Some("reject") => settle(frame, Verdict::Reject),
        Some("extend") => settle(frame, Verdict::Extend),
        Some("pull") => pull(frame, limits),
        Some("receipt") => receipt_of(frame, false),
        Some("watch") => receipt_of(frame, true),
        Some("ping") => bare(frame, Operation::Ping),
        Some(other) => Err(bad_frame(
            "/op",
            format!(
                "expected `op` to be publish, subscribe, unsubscribe, ack, nack, reject, extend, pull, receipt, watch or ping, got {:?}",
                other.chars().take(64).collect::<String>()
            ),
        )),
        None => Err(bad_frame("/op", "expected `op` to be a string")),
    }
}

fn bare(frame: Value<'_>, operation: Operation) -> Result<Operation, Rejection> {
    Members::of(frame, Code::BadFrame)
        .only(&["op", "ref"])
        .finish()?;
    Ok(operation)
}

fn settle(frame: Value<'_>, verdict: Verdict) -> Result<Operation, Rejection> {
    Settlement::read(frame, verdict, Code::BadFrame, &["op", "ref"]).map(Operation::Settle)
}

fn publish(frame: Value<'_>, rules: &Rules) -> Result<Operation, Rejection> {
    Members::of(frame, Code::BadFrame)
        .only(&["op", "ref", "envelope"])
        .finish()?;
    let Some(envelope) = frame.get("envelope") else {
        return Err(bad_frame("/envelope", "expected `envelope` to be present"));
    };
    let length = envelope.raw().len();
    if length > rules.envelope_bytes_max {
        let detail = format!(
            "expected at most {} bytes, got {length}",
            rules.envelope_bytes_max
        );
        return Err(Fault::new(Code::TooLarge, "/envelope", "ARCHITECTURE limits", detail).into());
    }
    Ok(Operation::Publish {
        reading: Box::new(protocol::decode_value(envelope, rules)),
        // A copy: a slice would keep the connection's buffer in memory for as long as the exchange
        // keeps this one envelope.
        envelope: Bytes::copy_from_slice(envelope.raw().as_bytes()),
    })
}

fn subscribe(frame: Value<'_>) -> Result<Operation, Rejection> {
    let mut members = Members::of(frame, Code::BadFrame).only(&[
        "op",
        "ref",
        "filter",
        "from",
        "on_gap",
        "mode",
        "inbox",
        "subscription",
        "consumer",
        "max_in_flight",
        "as",
    ]);
    let (place, consumer) = (members.place(), members.consumer());
    let wanted = rendering::from_members(&mut members);
    let from = members
        .text("from")
        .map_or(From::Latest, |text| From::parse(&text));
    let in_flight_max = members.number("max_in_flight", 1..=IN_FLIGHT_MAX);
    let follow = Follow {
        on_gap: word(&mut members, "on_gap", OnGap::parse, "skip or fail"),
        mode: word(&mut members, "mode", Mode::parse, "complete or best_effort"),
    };
    let filter = members.get("filter");
    if place.is_some() {
        for name in ["filter", "from", "on_gap", "mode"] {
            if members.get(name).is_some() {
                members.refuse(name, format!("expected no `{name}` with a durable place"));
            }
        }
    } else {
        for name in ["max_in_flight", "consumer"] {
            if members.get(name).is_some() {
                let detail = format!("expected `{name}` only with a durable place");
                members.refuse(name, detail);
            }
        }
    }
    members.finish()?;
    if let Some(place) = place {
        let in_flight_max = usize::try_from(in_flight_max.unwrap_or(IN_FLIGHT_DEFAULT));
        return Ok(Operation::Consume {
            place,
            consumer,
            in_flight_max: in_flight_max.unwrap_or(1),
            wanted,
        });
    }
    let filter = match filter {
        Some(value) => Filter::from_json(value).map_err(|refused| below("/filter", &refused))?,
        None => Filter::default(),
    };
    Ok(Operation::Follow {
        filter,
        from,
        follow,
        wanted,
    })
}

/// A member that is one of a few words.
fn word<T: Default>(
    members: &mut Members<'_>,
    name: &'static str,
    parse: fn(&str) -> Option<T>,
    expected: &str,
) -> T {
    let Some(text) = members.text(name) else {
        return T::default();
    };
    parse(&text).unwrap_or_else(|| {
        members.refuse(
            name,
            format!("expected `{name}` to be {expected}, got {text:?}"),
        );
        T::default()
    })
}

fn watch_task(frame: Value<'_>) -> Result<Operation, Rejection> {
    let names = ["op", "ref", "task", "from"];
    let mut members = Members::of(frame, Code::BadFrame).only(&names);
    let task = members.text("task");
    let from = members.text("from").map(|text| From::parse(&text));
    members.finish()?;
    let task = task.unwrap_or_default().into_owned();
    Ok(Operation::Watch { task, from })
}

fn pull(frame: Value<'_>, limits: &FrameLimits) -> Result<Operation, Rejection> {
    let names = [
        "op",
        "ref",
        "inbox",
        "subscription",
        "consumer",
        "max",
        "wait_ms",
        "as",
    ];
    let mut members = Members::of(frame, Code::BadFrame).only(&names);
    let (place, consumer) = (members.place(), members.consumer());
    let wanted = rendering::from_members(&mut members);
    let max = members
        .number("max", 1..=limits.pull_max)
        .unwrap_or(PULL_DEFAULT as i64);
    let wait = members
        .quantity("wait_ms", "milliseconds", 0..=limits.pull_wait_ms_max)
        .unwrap_or(0);
    members.finish()?;
    let place = place.ok_or_else(|| bad_frame("", "expected `inbox` or `subscription`"))?;
    let pull = Pull {
        place,
        consumer,
        max: usize::try_from(max).unwrap_or(1),
        wait: Duration::from_millis(wait.unsigned_abs()),
    };
    Ok(Operation::Pull(pull, wanted))
}

fn receipt_of(frame: Value<'_>, is_watched: bool) -> Result<Operation, Rejection> {
    let names = ["op", "ref", "id", "sender"];
    let mut members = Members::of(frame, Code::BadFrame).only(&names);
    let id = members.text("id");
    let sender = members.text("sender");
    if members.get("id").is_none() {
        let detail = match is_watched {
            true => "expected `id`, of a message, or `task` to be present",
            false => "expected `id`, of a message, to be present",
        };
        members.refuse("id", detail.into());
    }
    members.finish()?;
    Ok(Operation::Receipt {
        id: id.unwrap_or_default().into_owned(),
        sender: sender.map(|text| Party::parse(&text)),
        is_watched,
    })
}

/// `{"op":"...","ref":...`, to be continued.
fn head(op: &str, reference: &str) -> String {
    let mut out = String::with_capacity(256);
    let _ = write!(out, "{{\"op\":\"{op}\"");
    if !reference.is_empty() {
        let _ = write!(out, ",\"ref\":{reference}");
    }
    out
}

/// A frame with nothing but `op` and `ref`.
pub(crate) fn plain(op: &str, reference: &str) -> String {
    let mut out = head(op, reference);
    out.push('}');
    out
}

/// A frame that names a place in the journal.
pub(crate) fn at_cursor(op: &str, reference: &str, cursor: Cursor) -> String {
    let mut out = head(op, reference);
    let _ = write!(out, ",\"cursor\":\"{cursor}\"}}");
    out
}

/// What a live reader does not get; it goes on after the cursor.
pub(crate) fn gap(reference: &str, gap: &Gap) -> String {
    let mut out = head("gap", reference);
    let _ = write!(out, ",\"cursor\":\"{}\",", gap.to);
    gap.write_members(&mut out);
    out.push('}');
    out
}

/// The last frame before the exchange shuts down.
pub(crate) fn draining(reference: &str, cursor: Cursor, retry_ms: u64) -> String {
    let mut out = head("draining", reference);
    let _ = write!(out, ",\"cursor\":\"{cursor}\",\"retry_ms\":{retry_ms}}}");
    out
}

/// The end of a watched task, and of its reader.
pub(crate) fn ended(
    reference: &str,
    handle: &Handle,
    task: &str,
    state: &str,
    entry: &Entry,
) -> String {
    let mut out = head("ended", reference);
    out.push_str(",\"task\":");
    push_string(&mut out, task);
    let _ = write!(out, ",\"state\":\"{state}\",\"id\":");
    push_string(&mut out, &entry.header.id);
    let _ = write!(out, ",\"cursor\":\"{}\"}}", handle.cursor(entry));
    out
}

pub(crate) fn receipt(reference: &str, receipt: &Receipt) -> String {
    let mut out = head("receipt", reference);
    out.push_str(",\"receipt\":");
    receipt.write_json(&mut out);
    out.push('}');
    out
}

/// What became of a message; `receipt` is a JSON object.
pub(crate) fn fate(reference: &str, receipt: &str) -> String {
    let mut out = head("receipt", reference);
    let _ = write!(out, ",\"receipt\":{receipt}}}");
    out
}

/// A durable reader begins, under this name.
pub(crate) fn consuming(reference: &str, cursor: Cursor, consumer: &str) -> String {
    let mut out = head("subscribed", reference);
    let _ = write!(out, ",\"cursor\":\"{cursor}\",\"consumer\":");
    push_string(&mut out, consumer);
    out.push('}');
    out
}

/// A refusal; `prefix` says where in the frame the refused part stands.
pub(crate) fn fault(reference: &str, rejection: &Rejection, prefix: &str) -> String {
    let mut out = head("fault", reference);
    out.push_str(",\"fault\":");
    problem::write(&mut out, rejection, prefix, None);
    out.push('}');
    out
}

/// One message of a live reader.
pub(crate) fn deliver(reference: &str, handle: &Handle, entry: &Entry, wanted: As) -> Bytes {
    let mut out = head("deliver", reference);
    let shown = entry.shown_in(wanted);
    let _ = write!(out, ",\"cursor\":\"{}\",", handle.cursor(entry));
    rendering::write_note(&mut out, wanted, shown);
    out.push_str("\"envelope\":");
    let mut out = out.into_bytes();
    out.reserve_exact(shown.envelope.len() + 1);
    out.extend_from_slice(shown.envelope);
    out.push(b'}');
    out.into()
}

/// One message of a durable reader.
pub(crate) fn deliver_leased(
    reference: &str,
    handle: &Handle,
    delivery: &Delivery,
    wanted: As,
) -> Bytes {
    let mut out = head("deliver", reference).into_bytes();
    out.push(b',');
    write_members(&mut out, handle, delivery, wanted);
    out.push(b'}');
    out.into()
}

/// The answer to a pull.
pub(crate) fn deliveries(
    reference: &str,
    handle: &Handle,
    deliveries: &[Delivery],
    wanted: As,
) -> Bytes {
    let mut out = head("deliveries", reference).into_bytes();
    out.extend_from_slice(b",\"deliveries\":");
    crate::http::deliveries::write_list(&mut out, handle, deliveries, wanted);
    out.push(b'}');
    out.into()
}

/// The answer to an ack, nack, reject or extend.
pub(crate) fn settled(
    reference: &str,
    settlement: &Settlement,
    outcomes: &[broker::Outcome],
) -> String {
    let mut out = head("settled", reference);
    out.push_str(",\"results\":");
    settlement.write_results(&mut out, outcomes);
    out.push('}');
    out
}

#[cfg(test)]
mod tests;
