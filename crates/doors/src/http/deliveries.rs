//! Deliveries: how one is written, and settling them over HTTP and over the socket.

use super::call::{Answer, Call, json, no_content};
use super::members::Members;
use super::problem;
use super::rendering::{self, As};
use axum::http::StatusCode;
use broker::{Delivery, DeliveryId, Departure, Handle, Outcome, Settle};
use protocol::json::{Limits, Value, push_string, read};
use protocol::{Code, Fault, Rejection};
use std::fmt::Write as _;

/// Deliveries settled in one request.
const SETTLED_MAX: usize = 1_024;

/// Longest delay or lease a consumer can ask for, in milliseconds: a day.
const DELAY_MS_MAX: i64 = 86_400_000;

/// Longest reason, in bytes.
const REASON_BYTES_MAX: usize = 1_024;

/// Bytes of a request to settle.
const BODY_BYTES_MAX: usize = 256 << 10;

/// What to do with deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ack,
    Nack,
    Reject,
    Extend,
}

/// A request to settle deliveries, checked.
#[derive(Debug)]
pub(crate) struct Settlement {
    /// Each as the consumer wrote it.
    pub deliveries: Vec<String>,
    pub how: Settle,
}

impl Settlement {
    /// Reads `deliveries` and the members that belong to `verdict`. `frame` names the members that
    /// the caller has read itself.
    pub(crate) fn read(
        object: Value<'_>,
        verdict: Verdict,
        code: Code,
        frame: &[&str],
    ) -> Result<Self, Rejection> {
        let own: &[&str] = match verdict {
            Verdict::Ack => &["deliveries"],
            Verdict::Nack => &["deliveries", "retry_after_ms", "reason"],
            Verdict::Reject => &["deliveries", "reason"],
            Verdict::Extend => &["deliveries", "lease_ms"],
        };
        let mut members = Members::of(object, code).only(&[own, frame].concat());
        let deliveries = members.texts("deliveries", SETTLED_MAX);
        let how = match verdict {
            Verdict::Ack => Settle::Ack,
            Verdict::Nack => Settle::Nack {
                retry_after_ms: members.quantity(
                    "retry_after_ms",
                    "milliseconds",
                    0..=DELAY_MS_MAX,
                ),
                reason: reason(&mut members),
            },
            Verdict::Reject => Settle::Reject {
                reason: reason(&mut members),
            },
            Verdict::Extend => Settle::Extend {
                lease_ms: members.quantity("lease_ms", "milliseconds", 1..=DELAY_MS_MAX),
            },
        };
        members.finish()?;
        let deliveries = deliveries
            .into_iter()
            .map(std::borrow::Cow::into_owned)
            .collect();
        Ok(Self { deliveries, how })
    }

    /// From members that were read elsewhere, within the same limits.
    pub(crate) fn new(deliveries: Vec<String>, how: Settle) -> Result<Self, Rejection> {
        let refuse = |pointer: &str, detail: String| Err(problem::bad_request(pointer, detail));
        if deliveries.is_empty() || deliveries.len() > SETTLED_MAX {
            let got = deliveries.len();
            let detail = format!("expected 1 to {SETTLED_MAX} deliveries, got {got}");
            return refuse("/deliveries", detail);
        }
        let reason = match &how {
            Settle::Nack { reason, .. } | Settle::Reject { reason } => reason.len(),
            Settle::Ack | Settle::Extend { .. } => 0,
        };
        if reason > REASON_BYTES_MAX {
            let detail =
                format!("expected at most {REASON_BYTES_MAX} bytes in `reason`, got {reason}");
            return refuse("/reason", detail);
        }
        let (name, least, ms) = match how {
            Settle::Nack { retry_after_ms, .. } => ("retry_after_ms", 0, retry_after_ms),
            Settle::Extend { lease_ms } => ("lease_ms", 1, lease_ms),
            Settle::Ack | Settle::Reject { .. } => ("", 0, None),
        };
        if let Some(ms) = ms
            && !(least..=DELAY_MS_MAX).contains(&ms)
        {
            let detail = format!(
                "expected a whole number of milliseconds from {least} to {DELAY_MS_MAX}, got {ms}"
            );
            return refuse(&format!("/{name}"), detail);
        }
        Ok(Self { deliveries, how })
    }

    /// Settles them; one outcome for each, in order.
    pub(crate) async fn run(&self, handle: &Handle) -> Result<Vec<Outcome>, Rejection> {
        self.begin(handle).await?.await
    }

    /// As [`Self::run`], and returns when it has its place before whatever is asked later.
    pub(crate) async fn begin(
        &self,
        handle: &Handle,
    ) -> Result<impl Future<Output = Result<Vec<Outcome>, Rejection>> + Send + use<>, Rejection>
    {
        let ids = self.deliveries.iter().map(|text| {
            let known = DeliveryId::parse(text);
            known.ok_or_else(|| not_a_delivery(text))
        });
        let ids: Vec<Result<DeliveryId, Rejection>> = ids.collect();
        let known: Vec<_> = ids.iter().flatten().copied().collect();
        let settled = match known.is_empty() {
            true => None,
            false => Some(handle.begin_settle(known, self.how.clone()).await?),
        };
        Ok(async {
            let settled = match settled {
                Some(settled) => settled.await?,
                None => Vec::new(),
            };
            let mut settled = settled.into_iter();
            let outcome = |id: Result<DeliveryId, Rejection>| {
                let id = id?;
                settled
                    .next()
                    .unwrap_or_else(|| Err(not_a_delivery(&id.to_string())))
            };
            Ok(ids.into_iter().map(outcome).collect())
        })
    }

    /// `[{"delivery","ok":true,"lease_until"?}|{"delivery","ok":false,"fault"}]`.
    pub(crate) fn write_results(&self, out: &mut String, outcomes: &[Outcome]) {
        out.push('[');
        for (at, (text, outcome)) in self.deliveries.iter().zip(outcomes).enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str("{\"delivery\":");
            push_string(out, text);
            match outcome {
                Ok(until) => {
                    out.push_str(",\"ok\":true");
                    if let Some(until) = until {
                        let _ = write!(out, ",\"lease_until\":\"{until}\"");
                    }
                    out.push('}');
                }
                Err(rejection) => {
                    out.push_str(",\"ok\":false,\"fault\":");
                    problem::write(out, rejection, &format!("/deliveries/{at}"), None);
                    out.push('}');
                }
            }
        }
        out.push(']');
    }
}

fn reason(members: &mut Members<'_>) -> Box<str> {
    let reason = members.text("reason").unwrap_or_default();
    if reason.len() > REASON_BYTES_MAX {
        let detail = format!(
            "expected at most {REASON_BYTES_MAX} bytes in `reason`, got {}",
            reason.len()
        );
        members.refuse("reason", detail);
    }
    reason.into()
}

pub(crate) async fn ack(call: Call) -> Answer {
    settle(call, Verdict::Ack).await
}

pub(crate) async fn nack(call: Call) -> Answer {
    settle(call, Verdict::Nack).await
}

pub(crate) async fn reject(call: Call) -> Answer {
    settle(call, Verdict::Reject).await
}

pub(crate) async fn extend(call: Call) -> Answer {
    settle(call, Verdict::Extend).await
}

/// A consumer says that it leaves: `{"consumer":"w1","inbox":"agent.b"}` or `"subscription"`.
pub(crate) async fn leave(call: Call) -> Answer {
    call.no_query()?;
    let handle = call.peer.handle.clone();
    let body = call.json(BODY_BYTES_MAX).await?;
    let (place, consumer) = {
        let document = read(&body, Limits::default())?;
        let mut members = Members::of(document.root(), Code::BadRequest).only(&[
            "consumer",
            "inbox",
            "subscription",
        ]);
        let (place, consumer) = (members.place(), members.consumer());
        let named = members.get("consumer").is_some();
        if !named {
            members.refuse("consumer", "expected `consumer` to be present".into());
        }
        members.finish()?;
        let place = place.ok_or_else(|| {
            problem::bad_request("", "expected `inbox` or `subscription`, got neither")
        })?;
        (place, consumer)
    };
    handle.leave(place, consumer, Departure::Leaves).await?;
    Ok(no_content())
}

async fn settle(call: Call, verdict: Verdict) -> Answer {
    call.no_query()?;
    let handle = call.peer.handle.clone();
    let body = call.json(BODY_BYTES_MAX).await?;
    let settlement = {
        let document = read(&body, Limits::default())?;
        Settlement::read(document.root(), verdict, Code::BadRequest, &[])?
    };
    let outcomes = settlement.run(&handle).await?;
    let mut out = String::from("{\"results\":");
    settlement.write_results(&mut out, &outcomes);
    out.push('}');
    Ok(json(StatusCode::OK, out))
}

/// Appends the members of one delivery, without braces: the envelope comes last and unchanged.
pub(crate) fn write_members(out: &mut Vec<u8>, handle: &Handle, delivery: &Delivery, wanted: As) {
    let mut note = String::new();
    let shown = delivery.entry.shown_in(wanted);
    rendering::write_note(&mut note, wanted, shown);
    write_shown(out, handle, delivery, &note, shown.envelope);
}

/// As [`write_members`], with an envelope that a note stands beside.
pub(crate) fn write_shown(
    out: &mut Vec<u8>,
    handle: &Handle,
    delivery: &Delivery,
    note: &str,
    envelope: &[u8],
) {
    let Delivery {
        id,
        attempt,
        redelivered,
        lease_until,
        entry,
    } = delivery;
    let mut head = String::with_capacity(192);
    let _ = write!(
        head,
        "\"delivery\":\"{id}\",\"attempt\":{attempt},\"redelivered\":{redelivered},\"lease_until\":\"{lease_until}\",\"cursor\":\"{}\",\"id\":",
        handle.cursor(entry)
    );
    push_string(&mut head, &entry.header.id);
    head.push(',');
    head.push_str(note);
    head.push_str("\"envelope\":");
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(envelope);
}

/// Appends a list of deliveries.
pub(crate) fn write_list(out: &mut Vec<u8>, handle: &Handle, deliveries: &[Delivery], wanted: As) {
    out.push(b'[');
    for (at, delivery) in deliveries.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{" } else { b"{" });
        write_members(out, handle, delivery, wanted);
        out.push(b'}');
    }
    out.push(b']');
}

fn not_a_delivery(text: &str) -> Rejection {
    let detail = format!("expected a delivery as it was handed out, got {text:?}");
    Fault::new(Code::NotFound, "", "ARCHITECTURE leases", detail).into()
}

#[cfg(test)]
mod tests {
    use super::{Settlement, Verdict};
    use broker::Settle;
    use protocol::json::{Limits, read};
    use protocol::{Code, Rejection};

    fn settlement(text: &str, verdict: Verdict) -> Result<Settlement, Rejection> {
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        Settlement::read(document.root(), verdict, Code::BadRequest, &["op"])
    }

    #[test]
    fn each_verdict_takes_its_own_members() {
        let nack = r#"{"op":"nack","deliveries":["1.2.3"],"retry_after_ms":5,"reason":"busy"}"#;
        let read = settlement(nack, Verdict::Nack).unwrap();
        assert_eq!(
            read.how,
            Settle::Nack {
                retry_after_ms: Some(5),
                reason: "busy".into(),
            }
        );
        assert_eq!(read.deliveries, ["1.2.3"]);
        let refused = settlement(nack, Verdict::Ack).unwrap_err();
        let pointers: Vec<_> = refused.all().map(|fault| &*fault.pointer).collect();
        assert_eq!(pointers, ["/retry_after_ms", "/reason"]);
        let extend = settlement(r#"{"deliveries":["1.2.3"]}"#, Verdict::Extend).unwrap();
        assert_eq!(extend.how, Settle::Extend { lease_ms: None });
        assert!(settlement(r#"{"deliveries":["1"],"lease_ms":0}"#, Verdict::Extend).is_err());
        assert!(settlement("{}", Verdict::Ack).is_err());
    }
}
