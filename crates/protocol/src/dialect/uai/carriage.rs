//! How one message with several recipients travels: native, strict, or as split copies.
//!
//! One model, three encodings. *Native* has `additional_targets` and the added modes at the top;
//! *strict* keeps the twelve published members and puts the rest into an extension record; a *split*
//! is one ordinary message for each recipient. Which one a peer gets follows from what was negotiated
//! with it ([`Carriage::for_features`]). All are pure functions of the text: the same message gives
//! the same bytes. Implements UAI 9.1 M3 to M5, M8 and 9.2.
//!
//! Takes valid keyed messages; what validation guarantees is not checked again. Signatures cover the
//! carriage, so they are left out and the sender signs again; a sealed message cannot be carried in
//! another way without sealing it again (UAI 9.11 E2, E6).

use std::borrow::Cow;

use super::extension::{ASSIGNMENT, MULTI_AGENT, SPLIT, is_signature, payloads};
use super::{integrity, keyless};
use crate::json::{self, Kind, Value, push_string};
use crate::{Code, Fault, Party, canonical, digest};

/// One of the three encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carriage {
    /// `additional_targets`, `broadcast`, `pubsub` and `topic` as the multi-agent report has them.
    Native,
    /// The twelve published members, and a multi-agent record.
    Strict,
    /// One message for each recipient.
    Split,
}

impl Carriage {
    /// Every carriage, the one that costs least first.
    pub const ALL: [Self; 3] = [Self::Native, Self::Strict, Self::Split];

    /// The word of settings and options.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Strict => "strict",
            Self::Split => "split",
        }
    }

    /// The carriage of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|carriage| carriage.as_str() == word)
    }

    /// What a peer gets that negotiated these features; without any, copies (UAI 9.1 M5, 9.6 K3).
    pub fn for_features<'f>(features: impl IntoIterator<Item = &'f str>) -> Self {
        let mut carriage = Self::Split;
        for feature in features {
            match feature {
                "ma.additional_targets" => return Self::Native,
                "ma.extension_carriage" => carriage = Self::Strict,
                _ => {}
            }
        }
        carriage
    }
}

/// Who changes the carriage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The sender, who can sign again.
    Sender,
    /// Somebody on the way, who cannot (UAI 9.2 B5).
    Broker,
}

/// The message in another carriage: one text, or one for each recipient in their order. A message
/// that is in that carriage already, or has but one recipient and a published mode, comes back as the
/// bytes it was.
///
/// # Errors
/// `split_requires_sender` for a sealed message, and for a signed one on the way;
/// `number_not_interoperable`.
pub fn carry(doc: Value<'_>, carriage: Carriage, by: By) -> Result<Vec<String>, Fault> {
    let model = Model::of(doc);
    let is_done = match carriage {
        Carriage::Native => model.record.is_none(),
        Carriage::Strict => model.others.is_empty() && model.has_published_mode(),
        Carriage::Split => model.targets.len() == 1 && model.has_published_mode(),
    } || (carriage == Carriage::Strict && model.is_strict());
    if is_done {
        return Ok(vec![doc.raw().to_owned()]);
    }
    may_change(doc, by)?;
    match carriage {
        Carriage::Native => Ok(vec![model.native()?]),
        Carriage::Strict => Ok(vec![model.strict()?]),
        Carriage::Split => model.split(),
    }
}

/// The message as one recipient is to read it, changed on the way: in that carriage, or its own copy. `None`
/// where it stays as it was sent, because it is in that carriage already. What is changed is keyed.
///
/// # Errors
/// As [`carry`]; `unknown_recipient` when no copy is for that party, as when it has the message by a topic.
pub fn carry_to(
    text: &str,
    carriage: Carriage,
    recipient: &Party,
) -> Result<Option<String>, Fault> {
    let limits = json::Limits {
        bytes_max: usize::MAX,
        depth_max: usize::MAX,
    };
    let document = json::read(text.as_bytes(), limits)?;
    if document.root().kind() != Kind::Array {
        return carry_doc_to(document.root(), carriage, recipient);
    }
    let keyed = keyless::to_keyed(document.root()).map_err(|faults| {
        let none = || Fault::new(Code::KeylessShape, "", "UAI 2 F3", "expected an envelope");
        faults.into_iter().next().unwrap_or_else(none)
    })?;
    carry_doc_to(
        json::read(keyed.as_bytes(), limits)?.root(),
        carriage,
        recipient,
    )
}

fn carry_doc_to(
    doc: Value<'_>,
    carriage: Carriage,
    recipient: &Party,
) -> Result<Option<String>, Fault> {
    let texts = carry(doc, carriage, By::Broker)?;
    if texts.first().is_some_and(|first| first == doc.raw()) {
        return Ok(None);
    }
    if carriage != Carriage::Split {
        return Ok(texts.into_iter().next());
    }
    let targets = Model::of(doc).targets;
    let own = targets.iter().position(|target| {
        let word = |name: &str| target.get(name).and_then(Value::as_str);
        let named = word("type").zip(word("id"));
        named.is_some_and(|(kind, id)| Party::from_parts(&kind, &id) == *recipient)
    });
    match own.and_then(|at| texts.into_iter().nth(at)) {
        Some(copy) => Ok(Some(copy)),
        None => {
            let detail = format!("expected a recipient that the message names, got {recipient}");
            Err(Fault::new(
                Code::UnknownRecipient,
                "/target",
                "UAI 9.2 B2",
                detail,
            ))
        }
    }
}

/// Whether the carriage may be changed at all.
fn may_change(doc: Value<'_>, by: By) -> Result<(), Fault> {
    let is_sealed = doc
        .get("profile")
        .and_then(Value::as_str)
        .is_some_and(|profile| profile == "uai.agent.sealed.v1");
    let mut records = doc.get("extensions").into_iter().flat_map(Value::items);
    let (what, rule) = if is_sealed {
        ("a sealed one", "UAI 9.11 E6")
    } else if by == By::Broker && records.any(is_signature) {
        ("a signed one", "UAI 9.2 B5")
    } else {
        return Ok(());
    };
    Err(Fault::new(
        Code::SplitRequiresSender,
        "/extensions",
        rule,
        format!("expected a message that may be carried in another way, got {what}"),
    ))
}

/// What all carriages say together.
struct Model<'d> {
    doc: Value<'d>,
    record: Option<Value<'d>>,
    targets: Vec<Value<'d>>,
    /// The list of additional targets, as it is written; empty when there is none.
    others: Cow<'d, str>,
    mode: Cow<'d, str>,
    /// The topic, as it is written.
    topic: Option<&'d str>,
}

impl<'d> Model<'d> {
    fn of(doc: Value<'d>) -> Self {
        let record = payloads(doc, MULTI_AGENT)
            .next()
            .map(|(_, payload)| payload);
        let carried = |name: &str| record.and_then(|record| record.get(name));
        let delivery = |name: &str| doc.get("delivery").and_then(|delivery| delivery.get(name));
        let list = doc
            .get("additional_targets")
            .or_else(|| carried("additional_targets"));
        let mut targets: Vec<_> = doc.get("target").into_iter().collect();
        targets.extend(list.into_iter().flat_map(Value::items));
        Self {
            doc,
            record,
            targets,
            others: list.map_or("", Value::raw).into(),
            mode: carried("delivery_mode")
                .or_else(|| delivery("mode"))
                .and_then(Value::as_str)
                .unwrap_or_default(),
            topic: delivery("topic")
                .or_else(|| carried("topic"))
                .map(Value::raw),
        }
    }

    fn has_published_mode(&self) -> bool {
        !matches!(&*self.mode, "broadcast" | "pubsub")
    }

    fn is_strict(&self) -> bool {
        let written = self
            .doc
            .get("delivery")
            .and_then(|delivery| delivery.get("mode"));
        self.record.is_some()
            && self.doc.get("additional_targets").is_none()
            && written
                .and_then(Value::as_str)
                .is_some_and(|mode| matches!(&*mode, "sync" | "async" | "event"))
    }

    fn native(&self) -> Result<String, Fault> {
        let mut changes = vec![
            (
                "delivery",
                Some(self.delivery(&self.mode, self.topic.map(Into::into))),
            ),
            ("trust", Some(self.trust())),
            (
                "extensions",
                Some(list(&self.records(&[MULTI_AGENT], None))),
            ),
        ];
        if !self.others.is_empty() {
            changes.push(("additional_targets", Some(self.others.to_string())));
        }
        sealed(&edit(self.doc, &changes))
    }

    fn strict(&self) -> Result<String, Fault> {
        let legacy = match &*self.mode {
            "broadcast" => "async",
            "pubsub" => "event",
            mode => mode,
        };
        let mut payload = String::from("{");
        if !self.others.is_empty() {
            payload.push_str("\"additional_targets\":");
            payload.push_str(&self.others);
        }
        let mut member = |name: &str, json: &str| {
            if payload.len() > 1 {
                payload.push(',');
            }
            push_string(&mut payload, name);
            payload.push(':');
            payload.push_str(json);
        };
        if legacy != self.mode {
            member("delivery_mode", &quoted(&self.mode));
        }
        if let Some(topic) = self.topic {
            member("topic", topic);
        }
        payload.push('}');
        let record = record(MULTI_AGENT, &payload);
        let changes = [
            ("additional_targets", None),
            ("delivery", Some(self.delivery(legacy, None))),
            ("trust", Some(self.trust())),
            (
                "extensions",
                Some(list(&self.records(&[MULTI_AGENT], Some(record)))),
            ),
        ];
        sealed(&edit(self.doc, &changes))
    }

    /// One copy for each recipient (UAI 9.2 B2).
    fn split(&self) -> Result<Vec<String>, Fault> {
        let origin_hash = canonical::canonical_hash(self.doc)?.to_hex();
        let origin = self
            .doc
            .get("message_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mode = match &*self.mode {
            "broadcast" | "pubsub" => "async",
            mode => mode,
        };
        let count = self.targets.len();
        let mut copies = Vec::with_capacity(count);
        for (index, target) in self.targets.iter().enumerate() {
            let id = target.get("id").and_then(Value::as_str).unwrap_or_default();
            let payload = format!(
                "{{\"origin_message_id\":{},\"origin_canonical_hash\":\"sha256:{origin_hash}\",\
                 \"recipient_index\":{index},\"recipient_count\":{count}}}",
                quoted(&origin)
            );
            let records = self.records(&[MULTI_AGENT, ASSIGNMENT], Some(record(SPLIT, &payload)));
            let mut changes = vec![
                ("additional_targets", None),
                ("message_id", Some(quoted(&copy_id(&origin, &id)?))),
                ("target", Some(target.raw().to_owned())),
                ("delivery", Some(self.delivery(mode, None))),
                ("trust", Some(self.trust())),
                ("extensions", Some(list(&records))),
            ];
            if let Some(body) = self.body_for(&id) {
                changes.push(("body", Some(body)));
            }
            copies.push(sealed(&edit(self.doc, &changes))?);
        }
        Ok(copies)
    }

    /// The body of a handoff as one recipient is to read it: it is the one that works, on its own
    /// action where the assignment names one.
    fn body_for(&self, id: &str) -> Option<String> {
        let profile = self.doc.get("profile").and_then(Value::as_str)?;
        if profile != "uai.agent.handoff.v1" {
            return None;
        }
        let mut changes = vec![("target_agent_id", Some(quoted(id)))];
        let assigned = payloads(self.doc, ASSIGNMENT)
            .flat_map(|(_, payload)| payload.get("assignments"))
            .flat_map(Value::items)
            .find(|one| one.get("agent_id").and_then(Value::as_str).as_deref() == Some(id));
        if let Some(action) = assigned.and_then(|one| one.get("exact_next_action")) {
            changes.push(("exact_next_action", Some(action.raw().to_owned())));
        }
        Some(edit(self.doc.get("body")?, &changes))
    }

    fn delivery(&self, mode: &str, topic: Option<String>) -> String {
        let changes = [("mode", Some(quoted(mode))), ("topic", topic)];
        self.doc
            .get("delivery")
            .map_or_else(|| "{}".into(), |delivery| edit(delivery, &changes))
    }

    fn trust(&self) -> String {
        self.doc.get("trust").map_or_else(
            || "{}".into(),
            |trust| edit(trust, &[("signature_ref", None)]),
        )
    }

    /// The extension records but signatures and these, and one more.
    fn records(&self, without: &[&str], more: Option<String>) -> Vec<String> {
        let is_kept = |record: &Value<'_>| {
            let namespace = record.get("namespace").and_then(Value::as_str);
            !is_signature(*record)
                && !namespace.is_some_and(|namespace| without.contains(&&*namespace))
        };
        let extensions = self.doc.get("extensions");
        let records = extensions.into_iter().flat_map(Value::items);
        let kept = records
            .filter(is_kept)
            .map(|record| record.raw().to_owned());
        kept.chain(more).collect()
    }
}

/// The id of the copy of `origin` for `recipient`.
///
/// # Errors
/// Never for texts that were read.
fn copy_id(origin: &str, recipient: &str) -> Result<String, Fault> {
    let pair = format!("[{},{}]", quoted(origin), quoted(recipient));
    let document = json::read(pair.as_bytes(), json::Limits::default())?;
    let hash = digest(canonical::canonicalize(document.root(), &[])?.as_bytes()).to_hex();
    Ok(format!("msg_{}", hash.get(..32).unwrap_or_default()))
}

fn record(namespace: &str, payload: &str) -> String {
    format!(
        "{{\"namespace\":\"{namespace}\",\"version\":\"1\",\"required\":false,\"payload\":{payload}}}"
    )
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// The text with the checksum that is right for it.
pub(super) fn sealed(text: &str) -> Result<String, Fault> {
    let limits = json::Limits {
        bytes_max: usize::MAX,
        depth_max: usize::MAX,
    };
    let document = json::read(text.as_bytes(), limits)?;
    let doc = document.root();
    let checksum = quoted(&integrity::checksum(doc)?);
    let Some(integrity) = doc
        .get("integrity")
        .filter(|part| part.kind() == Kind::Object)
    else {
        return Ok(text.to_owned());
    };
    let integrity = edit(integrity, &[("checksum", Some(checksum))]);
    Ok(edit(doc, &[("integrity", Some(integrity))]))
}

/// An object with some members replaced or left out; what it did not have comes last.
pub(super) fn edit(object: Value<'_>, changes: &[(&str, Option<String>)]) -> String {
    let mut out = String::with_capacity(object.raw().len() + 64);
    out.push('{');
    let mut member = |name: &str, json: &str| {
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, name);
        out.push(':');
        out.push_str(json);
    };
    for (key, value) in object.members() {
        let name = key.text();
        match changes.iter().find(|(changed, _)| *changed == name) {
            Some((_, Some(json))) => member(&name, json),
            Some((_, None)) => {}
            None => member(&name, value.raw()),
        }
    }
    for (name, json) in changes {
        if let (None, Some(json)) = (object.get(name), json) {
            member(name, json);
        }
    }
    out.push('}');
    out
}
