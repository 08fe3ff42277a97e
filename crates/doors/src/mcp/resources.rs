//! Conversations, tasks and the party's inbox as resources.

use super::{Exchange, Pairs, Refusal, TraceForm};
use crate::http::percent;
use protocol::{Code, Party};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::Value;

const SCHEME: &str = "interwire://";

/// One thing that can be read or watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Conversation(String),
    Task(String),
    Inbox(String),
}

impl Name {
    /// Reads an address; the id may be percent-encoded.
    pub(super) fn parse(uri: &str) -> Result<Self, Refusal> {
        let unknown = || {
            let detail = format!(
                "expected interwire://conversations/ID, interwire://tasks/ID or \
                 interwire://inbox/PARTY, got {uri:?}"
            );
            Refusal::new(Code::NotFound, "/uri", detail)
        };
        let rest = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
        let (kind, id) = rest.split_once('/').ok_or_else(unknown)?;
        let id = percent::decode(id, false).filter(|id| !id.is_empty());
        let id = id.ok_or_else(unknown)?;
        match kind {
            "conversations" => Ok(Self::Conversation(id)),
            "tasks" => Ok(Self::Task(id)),
            "inbox" => Ok(Self::Inbox(Party::parse(&id).as_str().to_owned())),
            _ => Err(unknown()),
        }
    }

    /// What has to be watched to notice that it changes.
    pub(super) async fn filters(&self, exchange: &impl Exchange) -> Result<Vec<Pairs>, Refusal> {
        let pair = |field: &str, value: &str| vec![(field.to_owned(), value.to_owned())];
        match self {
            Self::Conversation(id) => Ok(vec![pair("conversation", id)]),
            Self::Task(id) => Ok(vec![pair("task", id)]),
            Self::Inbox(party) => {
                let mut filters = vec![pair("target", party)];
                // What durable subscriptions put into the inbox.
                let all = exchange.subscriptions().await?;
                let list = all.get("subscriptions").and_then(Value::as_array);
                for one in list.into_iter().flatten() {
                    if one.get("deliver_to").and_then(Value::as_str) == Some(party)
                        && let Some(filter) = one.get("filter").and_then(Value::as_object)
                    {
                        let pairs = filter.iter().flat_map(|(field, values)| {
                            let values = values.as_array().into_iter().flatten();
                            values.filter_map(|value| {
                                Some((field.clone(), value.as_str()?.to_owned()))
                            })
                        });
                        filters.push(pairs.collect());
                    }
                }
                Ok(filters)
            }
        }
    }

    /// What it holds now: its media type and its text.
    pub(super) async fn read(
        &self,
        exchange: &impl Exchange,
    ) -> Result<(&'static str, String), Refusal> {
        match self {
            Self::Conversation(id) => {
                let text = exchange.trace(id, TraceForm::Text).await?;
                Ok(("text/plain", text))
            }
            Self::Task(id) => Ok(("application/json", exchange.task(id).await?.to_string())),
            Self::Inbox(party) => {
                let place = exchange.place(party).await?;
                Ok(("application/json", place.to_string()))
            }
        }
    }
}

/// The address of the inbox of a party.
pub(super) fn inbox_uri(party: &Party) -> String {
    format!("{SCHEME}inbox/{party}")
}

/// The inbox of the party, and the newest tasks.
pub(super) async fn list(
    exchange: &impl Exchange,
    party: &Party,
    tasks_max: usize,
) -> Result<Vec<Resource>, Refusal> {
    let inbox = Resource::new(inbox_uri(party), format!("inbox of {party}"))
        .with_description(
            "How many messages wait for you. Subscribe to it to be told when one comes; read them \
             with the tool `inbox`.",
        )
        .with_mime_type("application/json");
    let mut resources = vec![inbox];
    let tasks = exchange.tasks(tasks_max).await?;
    for task in tasks
        .get("tasks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |name: &str| task.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = text("task");
        let described = format!("{}, asked for by {}", text("state"), text("requester"));
        resources.push(
            Resource::new(
                format!("{SCHEME}tasks/{}", encode(id)),
                format!("task {id}"),
            )
            .with_description(described)
            .with_mime_type("application/json"),
        );
    }
    Ok(resources)
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |path: &str, name: &str, description: &str, media: &str| {
        ResourceTemplate::new(format!("{SCHEME}{path}"), name)
            .with_description(description)
            .with_mime_type(media)
    };
    vec![
        template(
            "conversations/{id}",
            "conversation",
            "A conversation as a tree: who said what because of what, and what became of it. The id \
             may be that of a conversation, a message, a task or a correlation.",
            "text/plain",
        ),
        template(
            "tasks/{id}",
            "task",
            "One task: its state, who asked, who works on it, its past.",
            "application/json",
        ),
        template(
            "inbox/{party}",
            "inbox",
            "What waits for a party, in numbers. Reading it takes nothing out.",
            "application/json",
        ),
    ]
}

fn encode(text: &str) -> String {
    let mut out = String::new();
    percent::encode(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn addresses_are_read_and_others_are_not_found() {
        let parse = |uri| Name::parse(uri);
        assert_eq!(
            parse("interwire://tasks/a%2Fb").unwrap(),
            Name::Task("a/b".into())
        );
        assert_eq!(
            parse("interwire://inbox/agent.b").unwrap(),
            Name::Inbox("agent:b".into())
        );
        for uri in [
            "http://x/y",
            "interwire://tasks/",
            "interwire://other/x",
            "interwire://tasks/%4",
        ] {
            assert_eq!(parse(uri).unwrap_err().0["code"], "not_found", "{uri}");
        }
    }
}
