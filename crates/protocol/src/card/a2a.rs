//! A2A cards, version 1.0 in and out, version 0.3 in (UAI 9.5 N4).

use super::{Card, RULE};
use crate::json::{Kind, Limits, Value, push_string, read as read_json};
use crate::{Code, Fault, Party, Rejection};

/// The extension that holds what UAI-1 knows of an agent.
const EXTENSION: &str = "urn:uai:a2a-ext:uai-1";

/// The version of A2A that is written.
const VERSION: &str = "1.0";

/// Whether an object is an A2A card of either version.
pub(super) fn is_card(root: Value<'_>) -> bool {
    let has = |name| root.get(name).is_some();
    has("supportedInterfaces") || (has("url") && (has("protocolVersion") || has("capabilities")))
}

/// The card of ours that says the same, with the A2A card inside.
pub(super) fn read(root: Value<'_>) -> Result<String, Rejection> {
    check(root)?;
    let mut out = String::from("{\"a2a\":");
    out.push_str(root.raw());
    for name in ["name", "description", "version"] {
        if let Some(text) = root.get(name).and_then(Value::as_str)
            && !text.is_empty()
        {
            key(&mut out, name);
            push_string(&mut out, &text);
        }
    }
    key(&mut out, "skills");
    list(&mut out, items(root, "skills"), |out, skill| {
        out.push('{');
        let mut is_first = true;
        for name in ["id", "name", "description", "tags", "examples"] {
            if let Some(value) = skill.get(name).filter(|value| !value.is_null()) {
                if !is_first {
                    out.push(',');
                }
                is_first = false;
                push_string(out, name);
                out.push(':');
                out.push_str(value.raw());
            }
        }
        out.push('}');
    });
    key(&mut out, "endpoints");
    let old = root.get("url").map(|_| root);
    let more = items(root, "supportedInterfaces").chain(items(root, "additionalInterfaces"));
    let endpoints = old.into_iter().chain(more);
    list(&mut out, endpoints, |out, one| {
        out.push_str("{\"url\":");
        push_string(out, &text(one, "url"));
        let bindings = ["protocolBinding", "preferredTransport", "transport"];
        let binding = bindings.iter().find_map(|name| one.get(name));
        if let Some(binding) = binding.and_then(Value::as_str) {
            out.push_str(",\"transport\":");
            push_string(out, &binding);
        }
        out.push('}');
    });
    if let Some(params) = extension(root) {
        for name in ["profiles", "features", "forms"] {
            if let Some(value) = params.get(name).filter(|value| value.kind() == Kind::Array) {
                key(&mut out, name);
                out.push_str(value.raw());
            }
        }
        let keys = params.get("keys").filter(|value| {
            value.kind() == Kind::Array && value.items().all(|key| key.kind() == Kind::Object)
        });
        if let Some(keys) = keys {
            key(&mut out, "keys");
            out.push_str(keys.raw());
        }
        out.push_str(",\"dialects\":[\"uai\"]");
    }
    out.push('}');
    Ok(out)
}

/// What both versions demand and we rely on.
fn check(root: Value<'_>) -> Result<(), Rejection> {
    let mut faults = Vec::new();
    let mut need = |object: Value<'_>, at: &str, name: &str| {
        let found = object.get(name).and_then(Value::as_str);
        if found.is_none_or(|text| text.is_empty()) {
            let detail = format!("expected an A2A card with a text in `{name}`");
            faults.push(Fault::new(
                Code::MissingField,
                format!("{at}/{name}"),
                RULE,
                detail,
            ));
        }
    };
    need(root, "", "name");
    for (at, skill) in items(root, "skills").enumerate() {
        need(skill, &format!("/skills/{at}"), "id");
    }
    for list in ["supportedInterfaces", "additionalInterfaces"] {
        for (at, one) in items(root, list).enumerate() {
            need(one, &format!("/{list}/{at}"), "url");
        }
    }
    Rejection::from_faults(faults).map_or(Ok(()), Err)
}

/// The card as an A2A card of version 1.0.
pub(super) fn write(card: &Card, party: &Party, interfaces: &[(String, &str)]) -> String {
    let Ok(document) = read_json(card.document().as_bytes(), whole()) else {
        return "{}".into();
    };
    let root = document.root();
    let given = root.get("a2a");
    if let Some(given) = given
        && given.get("supportedInterfaces").is_some()
    {
        return given.raw().to_owned();
    }
    let mut out = String::from("{\"name\":");
    push_string(
        &mut out,
        if card.name.is_empty() {
            party.as_str()
        } else {
            &card.name
        },
    );
    key(&mut out, "description");
    push_string(&mut out, &text(root, "description"));
    key(&mut out, "version");
    let version = text(root, "version");
    push_string(&mut out, if version.is_empty() { "0" } else { &version });
    key(&mut out, "supportedInterfaces");
    out.push('[');
    let own = items(root, "endpoints").map(|one| {
        let transport = text(one, "transport");
        (
            text(one, "url"),
            if transport.is_empty() {
                "HTTP+JSON".into()
            } else {
                transport
            },
        )
    });
    let others = interfaces
        .iter()
        .map(|(url, binding)| (url.clone(), (*binding).to_owned()));
    for (at, (url, binding)) in own.chain(others).enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str("{\"url\":");
        push_string(&mut out, &url);
        key(&mut out, "protocolBinding");
        push_string(&mut out, &binding);
        key(&mut out, "protocolVersion");
        push_string(&mut out, VERSION);
        out.push('}');
    }
    out.push_str("],\"capabilities\":");
    capabilities(&mut out, root, party);
    for name in ["defaultInputModes", "defaultOutputModes"] {
        key(&mut out, name);
        match given.and_then(|given| given.get(name)) {
            Some(modes) => out.push_str(modes.raw()),
            None => out.push_str("[\"application/json\"]"),
        }
    }
    key(&mut out, "skills");
    skills(&mut out, card, root);
    for name in ["provider", "documentationUrl", "iconUrl"] {
        if let Some(value) = given.and_then(|given| given.get(name)) {
            key(&mut out, name);
            out.push_str(value.raw());
        }
    }
    out.push('}');
    out
}

/// Skills as they are, and an intent that is no skill as one: who reads only A2A shall see it.
fn skills(out: &mut String, card: &Card, root: Value<'_>) {
    out.push('[');
    let mut is_first = true;
    let mut one = |id: &str, name: &str, description: &str, tags: &[Box<str>]| {
        if !is_first {
            out.push(',');
        }
        is_first = false;
        for (member, value) in [
            ("{\"id\":", id),
            (",\"name\":", name),
            (",\"description\":", description),
        ] {
            out.push_str(member);
            push_string(out, value);
        }
        out.push_str(",\"tags\":[");
        for (at, tag) in tags.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(out, tag);
        }
        out.push_str("]}");
    };
    for (skill, value) in card.skills.iter().zip(items(root, "skills")) {
        one(
            &skill.id,
            &skill.name,
            &text(value, "description"),
            &skill.tags,
        );
    }
    for intent in &card.intents {
        if !card.skills.iter().any(|skill| skill.id == *intent) {
            one(intent, intent, "", &["intent".into()]);
        }
    }
    out.push(']');
}

fn capabilities(out: &mut String, root: Value<'_>, party: &Party) {
    let given = root.get("a2a").and_then(|given| given.get("capabilities"));
    let can = |name| {
        given
            .and_then(|given| given.get(name))
            .and_then(Value::as_bool)
            == Some(true)
    };
    out.push('{');
    for name in ["streaming", "pushNotifications", "extendedAgentCard"] {
        push_string(out, name);
        out.push_str(if can(name) { ":true," } else { ":false," });
    }
    out.push_str("\"extensions\":[{\"uri\":");
    push_string(out, EXTENSION);
    out.push_str(",\"required\":false,\"params\":{\"agent_id\":");
    push_string(out, party.name());
    key(out, "type");
    push_string(out, party.kind().unwrap_or("agent"));
    for name in ["profiles", "features", "forms", "keys"] {
        key(out, name);
        match root.get(name) {
            Some(value) => out.push_str(value.raw()),
            None => out.push_str("[]"),
        }
    }
    out.push_str("}}]}");
}

/// The parameters of our extension.
fn extension(root: Value<'_>) -> Option<Value<'_>> {
    let extensions = root.get("capabilities")?.get("extensions")?;
    let ours = |one: &Value<'_>| text(*one, "uri") == EXTENSION;
    extensions.items().find(ours)?.get("params")
}

fn items<'d>(object: Value<'d>, name: &str) -> impl Iterator<Item = Value<'d>> {
    object.get(name).into_iter().flat_map(Value::items)
}

fn text(object: Value<'_>, name: &str) -> String {
    let value = object.get(name).and_then(Value::as_str);
    value.unwrap_or_default().into_owned()
}

fn key(out: &mut String, name: &str) {
    out.push(',');
    push_string(out, name);
    out.push(':');
}

fn list<'d>(
    out: &mut String,
    items: impl Iterator<Item = Value<'d>>,
    mut write: impl FnMut(&mut String, Value<'d>),
) {
    out.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

fn whole() -> Limits {
    Limits {
        bytes_max: usize::MAX,
        ..Limits::default()
    }
}
