//! `[[mcp.servers]]`: the MCP servers whose tools are offered. One table for each; only in the file.

use doors::bridge::{McpServer, Reach};
use protocol::Party;
use std::collections::HashSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// How long a call may take when neither the request nor the file says, in milliseconds.
const TIMEOUT_DEFAULT_MS: u64 = 60_000;

/// Calls that run at once when the file does not say.
const CALLS_DEFAULT: usize = 16;

/// The keys of one server, as `interwire config init` explains them.
pub const KEYS: [(&str, &str); 8] = [
    ("name", "Its name, once among all servers"),
    ("command", "The program that is the server"),
    ("args", "Its arguments, a list"),
    ("env", "Environment variables for it, a table"),
    (
        "url",
        "Instead of command: its address over streamable HTTP",
    ),
    ("party", "Who it is on the exchange (tool:NAME)"),
    (
        "timeout_ms",
        "Milliseconds that one call may take when the request does not say (60000)",
    ),
    ("calls_max", "Calls that run at once; more wait (16)"),
];

/// What is wrong, and at which byte of the file.
pub type Wrong = (usize, String);

/// Reads the list.
pub fn read(value: &Spanned<DeValue<'_>>) -> Result<Vec<McpServer>, Vec<Wrong>> {
    let DeValue::Array(list) = value.get_ref() else {
        let sentence = "expected [[mcp.servers]], one table for each server".to_owned();
        return Err(vec![(value.span().start, sentence)]);
    };
    let (mut servers, mut wrong) = (Vec::new(), Vec::new());
    let (mut names, mut parties) = (HashSet::new(), HashSet::new());
    for one in list {
        let at = one.span().start;
        let DeValue::Table(table) = one.get_ref() else {
            wrong.push((at, "expected a table for each of mcp.servers".to_owned()));
            continue;
        };
        match server(table, at) {
            Ok(server) => {
                if !names.insert(server.name.clone()) {
                    wrong.push((at, format!("expected the name {:?} once", server.name)));
                }
                if !parties.insert(server.party.clone()) {
                    wrong.push((at, format!("expected one server as {}", server.party)));
                }
                servers.push(server);
            }
            Err(faults) => wrong.extend(faults),
        }
    }
    if wrong.is_empty() {
        Ok(servers)
    } else {
        Err(wrong)
    }
}

fn server(table: &DeTable<'_>, at: usize) -> Result<McpServer, Vec<Wrong>> {
    let mut wrong = Vec::new();
    let (mut name, mut command, mut url, mut party) = (None, None, None, None);
    let (mut args, mut env) = (Vec::new(), Vec::new());
    let (mut timeout_ms, mut calls_max) = (TIMEOUT_DEFAULT_MS, CALLS_DEFAULT);
    for (key, value) in table {
        let read = match &**key.get_ref() {
            "name" => text(value).map(|text| name = Some(text)),
            "command" => text(value).map(|text| command = Some(text)),
            "url" => text(value).map(|text| url = Some(text)),
            "party" => text(value).map(|text| party = Some(text)),
            "args" => texts(value).map(|texts| args = texts),
            "env" => variables(value).map(|variables| env = variables),
            "timeout_ms" => number(value).map(|number| timeout_ms = number),
            "calls_max" => number(value).map(|number| {
                calls_max = usize::try_from(number).unwrap_or(usize::MAX);
            }),
            other => {
                let known: Vec<_> = KEYS.iter().map(|(name, _)| *name).collect();
                let known = known.join(", ");
                wrong.push((
                    key.span().start,
                    format!("mcp.servers: expected one of {known}, got {other:?}"),
                ));
                continue;
            }
        };
        if let Err(expected) = read {
            let key = key.get_ref();
            wrong.push((
                value.span().start,
                format!("expected mcp.servers.{key} to be {expected}"),
            ));
        }
    }
    let is_plain = |name: &&String| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if name.as_ref().filter(is_plain).is_none() {
        let sentence = "expected mcp.servers.name to be letters, digits, `.`, `_` or `-`";
        wrong.push((at, sentence.to_owned()));
    }
    let reach = match (command, url) {
        (Some(command), None) => Some(Reach::Command { command, args, env }),
        (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
            Some(Reach::Url(url))
        }
        (None, Some(url)) => {
            let sentence =
                format!("expected mcp.servers.url to begin with http:// or https://, got {url:?}");
            wrong.push((at, sentence));
            None
        }
        _ => {
            let sentence = "expected either command or url in each of mcp.servers";
            wrong.push((at, sentence.to_owned()));
            None
        }
    };
    match (reach, name) {
        (Some(reach), Some(name)) if wrong.is_empty() => Ok(McpServer {
            party: Party::parse(&party.unwrap_or_else(|| format!("tool:{name}"))),
            name,
            reach,
            timeout_ms,
            calls_max,
        }),
        _ => Err(wrong),
    }
}

fn text(value: &Spanned<DeValue<'_>>) -> Result<String, &'static str> {
    match value.get_ref() {
        DeValue::String(text) if !text.is_empty() => Ok(text.to_string()),
        _ => Err("a text"),
    }
}

fn texts(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, &'static str> {
    let DeValue::Array(list) = value.get_ref() else {
        return Err("a list of texts");
    };
    // An argument may be empty.
    let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err("a list of texts"),
    };
    list.iter().map(one).collect()
}

fn variables(value: &Spanned<DeValue<'_>>) -> Result<Vec<(String, String)>, &'static str> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err("a table of texts");
    };
    let one =
        |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| match value
            .get_ref()
        {
            DeValue::String(text) => Ok((name.get_ref().to_string(), text.to_string())),
            _ => Err("a table of texts"),
        };
    table.iter().map(one).collect()
}

fn number(value: &Spanned<DeValue<'_>>) -> Result<u64, &'static str> {
    let expected = "a whole number of at least 1";
    let DeValue::Integer(integer) = value.get_ref() else {
        return Err(expected);
    };
    let digits = integer.as_str().replace('_', "");
    match u64::from_str_radix(&digits, integer.radix()) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(expected),
    }
}
