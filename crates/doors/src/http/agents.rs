//! `/v1/agents`: the directory; and the cards that A2A clients read.

use super::call::{Answer, Call, json, no_content, typed};
use super::problem::bad_request;
use super::query::Query;
use axum::http::{StatusCode, header};
use broker::{AgentPage, AgentQuery, AgentView, Handle, Presence};
use protocol::json::push_string;
use protocol::{Card, Code, DialectName, Fault, Party, Rejection};
use std::fmt::Write as _;

/// Agents in a list when the caller does not say.
const LIST_DEFAULT: u64 = 100;

/// How the exchange's own interfaces are called in A2A cards: core bindings of A2A they are not.
const OWN_BINDING: &str = "urn:interwire:http";

pub(crate) async fn list(call: Call) -> Answer {
    let mut query = call.query()?;
    let max = call.door.settings.page_max as u64;
    let limit = query.number("limit", LIST_DEFAULT.min(max), 1..=max)?;
    let after = query.take("after")?.map(|text| Party::parse(&text));
    let wanted = read_query(&mut query)?;
    query.finish()?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = call.peer.handle.agents(wanted, after, limit).await?;
    Ok(json(StatusCode::OK, page_text(&page)))
}

pub(crate) async fn show(call: Call) -> Answer {
    call.no_query()?;
    let text = agent_text(&call.peer.handle, call.param("party")).await?;
    Ok(json(StatusCode::OK, text))
}

/// One agent as JSON.
pub(crate) async fn agent_text(handle: &Handle, party: &str) -> Result<String, Rejection> {
    let view = find(handle, party).await?;
    let mut out = String::new();
    write_view(&mut out, &view);
    Ok(out)
}

pub(crate) async fn put(call: Call) -> Answer {
    call.no_query()?;
    let handle = call.peer.handle.clone();
    let party = Party::parse(call.param("party"));
    let max = handle.settings().exchange.directory.card_bytes_max;
    let body = call.json(max).await?;
    let card = Card::read(&body, max)?;
    let is_new = handle.put_card(party.clone(), card).await?;
    let text = agent_text(&handle, party.as_str()).await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(json(status, text))
}

pub(crate) async fn remove(call: Call) -> Answer {
    call.no_query()?;
    let party = Party::parse(call.param("party"));
    call.peer.handle.remove_cards(party).await?;
    Ok(no_content())
}

/// An agent's A2A card.
pub(crate) async fn card(call: Call) -> Answer {
    call.no_query()?;
    let handle = &call.peer.handle;
    let view = find(handle, call.param("party")).await?;
    let interface = (format!("{}/v1/messages", own_url(&call)), OWN_BINDING);
    let text = match view.cards.first() {
        Some((_, card)) => card.to_a2a(&view.party, &[interface]),
        None => return Err(no_agent(&view.party)),
    };
    Ok(typed(StatusCode::OK, "application/json", text))
}

/// The exchange's own A2A card.
pub(crate) async fn own_card(call: Call) -> Answer {
    call.no_query()?;
    let card = Card::restore(include_str!("own_card.json"))?;
    let url = own_url(&call);
    let interfaces = [
        (format!("{url}/v1/messages"), OWN_BINDING),
        (format!("{url}/harmovela"), "urn:interwire:aep-websocket"),
        (format!("{url}/mcp"), "urn:interwire:mcp"),
    ];
    let own = Party::parse(protocol::task::SERVICE);
    let text = card.to_a2a(&own, &interfaces);
    Ok(typed(StatusCode::OK, "application/json", text))
}

/// Where the caller found us, as it wrote it.
fn own_url(call: &Call) -> String {
    let scheme = match call.door.settings.tls {
        Some(_) => "https",
        None => "http",
    };
    let host = call.parts.headers.get(header::HOST);
    let host = host.and_then(|value| value.to_str().ok());
    let host = host.or_else(|| {
        call.parts
            .uri
            .authority()
            .map(axum::http::uri::Authority::as_str)
    });
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}

async fn find(handle: &Handle, party: &str) -> Result<AgentView, Rejection> {
    let party = Party::parse(party);
    let found = handle.agent(party.clone()).await?;
    found.ok_or_else(|| no_agent(&party))
}

fn no_agent(party: &Party) -> Rejection {
    let detail = format!("expected an agent of the directory, got `{party}`");
    Fault::new(Code::NotFound, "", "DIRECTORY", detail).into()
}

fn read_query(query: &mut Query) -> Result<AgentQuery, Rejection> {
    let mut words = |name| -> Vec<Box<str>> {
        let all = query.take_all(name);
        all.into_iter().map(Into::into).collect()
    };
    let mut wanted = AgentQuery {
        skills: words("skill"),
        tags: words("tag"),
        intents: words("intent"),
        profiles: words("profile"),
        features: words("feature"),
        locations: words("location"),
        kinds: words("kind"),
        ..AgentQuery::default()
    };
    for word in query.take_all("dialect") {
        let dialect = DialectName::parse(&word).ok_or_else(|| {
            let detail = format!("expected `dialect` to be aee, aep or uai, got {word:?}");
            bad_request("/dialect", detail)
        })?;
        wanted.dialects.push(dialect);
    }
    for word in query.take_all("presence") {
        let known = Presence::ALL
            .into_iter()
            .find(|state| state.as_str() == word);
        match (known, &*word) {
            (Some(state), _) => wanted.presence.push(state),
            (None, "any") => wanted.presence.extend(Presence::ALL),
            (None, _) => {
                let detail = format!(
                    "expected `presence` to be online, stale, offline or any, got {word:?}"
                );
                return Err(bad_request("/presence", detail));
            }
        }
    }
    wanted.words = query.take("q")?.unwrap_or_default().into();
    Ok(wanted)
}

/// `{"agents":[...],"next":"agent:x" or null}`.
pub(crate) fn page_text(page: &AgentPage) -> String {
    let mut out = String::from("{\"agents\":[");
    for (at, view) in page.agents.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_view(&mut out, view);
    }
    out.push_str("],\"next\":");
    match &page.next {
        Some(party) => push_string(&mut out, party.as_str()),
        None => out.push_str("null"),
    }
    out.push('}');
    out
}

fn write_view(out: &mut String, view: &AgentView) {
    let AgentView {
        party,
        cards,
        changed_at,
        presence,
        last_seen,
        lease_ms,
    } = view;
    out.push_str("{\"party\":");
    push_string(out, party.as_str());
    out.push_str(",\"kind\":");
    match party.kind() {
        Some(kind) => push_string(out, kind),
        None => out.push_str("null"),
    }
    out.push_str(",\"name\":");
    let name = cards.iter().map(|(_, card)| &*card.name);
    push_string(
        out,
        name.into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or(party.name()),
    );
    let _ = write!(
        out,
        ",\"presence\":\"{}\",\"last_seen\":",
        presence.as_str()
    );
    match last_seen {
        Some(at) => push_string(out, &at.to_string()),
        None => out.push_str("null"),
    }
    let _ = write!(
        out,
        ",\"lease_ms\":{lease_ms},\"changed_at\":\"{changed_at}\""
    );
    let cards = || cards.iter().map(|(_, card)| card);
    write_words(
        out,
        "skills",
        cards()
            .flat_map(|card| &card.skills)
            .map(|skill| &*skill.id),
    );
    write_words(
        out,
        "intents",
        cards().flat_map(|card| &card.intents).map(|text| &**text),
    );
    let dialects = cards().flat_map(|card| &card.dialects);
    write_words(out, "dialects", dialects.map(|dialect| dialect.as_str()));
    write_words(
        out,
        "profiles",
        cards().flat_map(|card| &card.profiles).map(|text| &**text),
    );
    out.push_str(",\"cards\":{");
    for (at, (source, card)) in view.cards.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let _ = write!(out, "\"{}\":{}", source.as_str(), card.document());
    }
    out.push_str("}}");
}

/// A list of words, each once.
fn write_words<'w>(out: &mut String, name: &str, words: impl Iterator<Item = &'w str>) {
    let mut seen = std::collections::BTreeSet::new();
    let _ = write!(out, ",\"{name}\":[");
    for word in words.filter(|word| seen.insert(*word)) {
        if !out.ends_with('[') {
            out.push(',');
        }
        push_string(out, word);
    }
    out.push(']');
}
