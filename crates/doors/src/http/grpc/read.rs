//! Requests of the typed service as the exchange understands them, and what it answers as messages.

use super::generated::interwire_v1 as wire;
use super::problem;
use crate::http::consumers;
use crate::http::problem::bad_request;
use crate::http::rendering::As;
use broker::{
    Consumer, Delivery, Entry, Follow, From, Gap, Handle, Mode, OnGap, PlaceName, Receipt,
    RecipientState,
};
use protocol::{Filter, Party, Rejection};

/// Where deliveries are.
pub(super) fn place(place: Option<wire::Place>) -> Result<PlaceName, Rejection> {
    use wire::place::Place;
    match place.and_then(|place| place.place) {
        Some(Place::Inbox(party)) if !party.is_empty() => {
            Ok(PlaceName::Inbox(Party::parse(&party)))
        }
        Some(Place::Subscription(name)) if !name.is_empty() => {
            Ok(PlaceName::Subscription(name.into()))
        }
        Some(_) | None => Err(bad_request(
            "/place",
            "expected `inbox` or `subscription` with a name, got neither",
        )),
    }
}

/// Who pulls; empty means nobody in particular.
pub(super) fn consumer(text: &str) -> Result<Consumer, Rejection> {
    if text.is_empty() {
        return Ok(None);
    }
    match consumers::parse(text) {
        Some(name) => Ok(Some(name)),
        None => Err(bad_request("/consumer", consumers::expected(text))),
    }
}

/// The filter, field by field.
pub(super) fn filter(filter: Option<wire::Filter>) -> Result<Filter, Rejection> {
    let wire::Filter {
        r#type,
        source,
        target,
        topic,
        conversation,
        task,
        session,
        intent,
        dialect,
        priority,
    } = filter.unwrap_or_default();
    let fields = [
        ("type", r#type),
        ("source", source),
        ("target", target),
        ("topic", topic),
        ("conversation", conversation),
        ("task", task),
        ("session", session),
        ("intent", intent),
        ("dialect", dialect),
        ("priority", priority),
    ];
    let pairs = fields
        .iter()
        .flat_map(|(name, values)| values.iter().map(|value| (*name, value.as_str())));
    Filter::from_pairs(pairs)
}

/// Where a reader begins.
pub(super) fn from(text: &str) -> From {
    if text.is_empty() {
        From::Latest
    } else {
        From::parse(text)
    }
}

/// How a reader wants to follow.
pub(super) fn follow(on_gap: &str, mode: &str) -> Result<Follow, Rejection> {
    Ok(Follow {
        on_gap: word("on_gap", on_gap, OnGap::parse, "skip or fail")?,
        mode: word("mode", mode, Mode::parse, "complete or best_effort")?,
    })
}

fn word<T: Default>(
    name: &str,
    text: &str,
    parse: fn(&str) -> Option<T>,
    expected: &str,
) -> Result<T, Rejection> {
    if text.is_empty() {
        return Ok(T::default());
    }
    parse(text).ok_or_else(|| {
        bad_request(
            &format!("/{name}"),
            format!("expected `{name}` to be {expected}, got {text:?}"),
        )
    })
}

pub(super) fn receipt(receipt: &Receipt) -> wire::Receipt {
    let recipient = |(party, state): &(Party, RecipientState)| wire::Recipient {
        party: party.as_str().into(),
        state: state.as_str().into(),
    };
    wire::Receipt {
        id: receipt.header.id.to_string(),
        cursor: receipt.cursor.to_string(),
        dialect: receipt.header.dialect.as_str().into(),
        durability: broker::durability_word(receipt.durability).into(),
        duplicate: receipt.duplicate,
        duplicate_of: receipt.duplicate_of.as_deref().unwrap_or_default().into(),
        recipients: receipt.recipients.iter().map(recipient).collect(),
        warnings: receipt
            .warnings
            .iter()
            .map(|warning| problem::fault(warning, ""))
            .collect(),
    }
}

pub(super) fn message(handle: &Handle, entry: &Entry, wanted: As) -> wire::Message {
    let shown = entry.shown_in(wanted);
    wire::Message {
        id: entry.header.id.to_string(),
        cursor: handle.cursor(entry).to_string(),
        dialect: shown.dialect.as_str().into(),
        envelope: shown.envelope.clone(),
        untranslated: shown.untranslated.map(|fault| problem::fault(fault, "")),
    }
}

pub(super) fn delivery(handle: &Handle, delivery: &Delivery, wanted: As) -> wire::Delivery {
    wire::Delivery {
        delivery: delivery.id.to_string(),
        attempt: delivery.attempt,
        redelivered: delivery.redelivered,
        lease_until: delivery.lease_until.to_string(),
        message: Some(message(handle, &delivery.entry, wanted)),
    }
}

pub(super) fn gap(gap: &Gap) -> wire::Gap {
    wire::Gap {
        from: gap.from.to_string(),
        to: gap.to.to_string(),
        count: gap.count,
        exact: gap.is_exact,
        reason: gap.reason.as_str().into(),
    }
}
