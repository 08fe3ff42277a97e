//! Agents: AutoGen's messages and events, CrewAI's outputs.

use super::{Said, no_word};
use crate::item::Kind;
use crate::tree::Tree;
use protocol::Fault;

fn t(text: &str) -> Tree {
    Tree::text(text)
}

pub(super) fn autogen(all: &[&Said]) -> Tree {
    let message = |said: &Said, kind: &str, content: Tree| {
        let source = if said.sender == "human.user" {
            "user"
        } else {
            said.name()
        };
        Tree::object([
            ("id", t(&said.id)),
            ("source", t(source)),
            ("models_usage", Tree::null()),
            ("metadata", Tree::object([])),
            ("created_at", t(&said.ts)),
            ("content", content),
            ("type", t(kind)),
        ])
    };
    let out = all.iter().map(|said| match &said.kind {
        Kind::Call { id, name } => {
            let call = Tree::object([
                ("id", t(id)),
                ("arguments", t(&said.arguments())),
                ("name", t(name)),
            ]);
            message(said, "ToolCallRequestEvent", Tree::List(vec![call]))
        }
        Kind::Result {
            call,
            name,
            is_error,
        } => {
            let result = Tree::object([
                ("content", t(&said.text())),
                ("name", t(name.as_deref().unwrap_or("tool"))),
                ("call_id", t(call)),
                ("is_error", Tree::flag(*is_error)),
            ]);
            message(said, "ToolCallExecutionEvent", Tree::List(vec![result]))
        }
        Kind::Message { .. } | Kind::Document { .. } => {
            message(said, "TextMessage", t(&said.text()))
        }
    });
    Tree::List(out.collect())
}

/// Results are outputs; what was asked for gives the description of its output.
pub(super) fn crewai(all: &[(usize, Said)]) -> Result<Tree, Fault> {
    let asked = |call: &str| {
        all.iter().find_map(|(_, said)| match &said.kind {
            Kind::Call { id, .. } if id == call => Some(&said.content),
            _ => None,
        })
    };
    let mut out = Vec::new();
    for (number, said) in all {
        match &said.kind {
            Kind::Call { .. } => {}
            Kind::Result {
                call,
                name,
                is_error: false,
            } => {
                let name = name.as_deref().unwrap_or("task");
                let words = asked(call)
                    .map(|content| super::plain(content.get("input").unwrap_or(content)));
                let is_json = matches!(said.content, Tree::Object(_));
                let json = if is_json {
                    said.content.clone()
                } else {
                    Tree::null()
                };
                out.push(Tree::object([
                    ("description", t(&words.unwrap_or_else(|| name.to_owned()))),
                    ("name", t(name)),
                    ("raw", t(&said.text())),
                    ("json_dict", json),
                    ("agent", t(said.name())),
                    ("output_format", t(if is_json { "json" } else { "raw" })),
                ]));
            }
            Kind::Result { is_error: true, .. } => {
                return Err(no_word(*number, "an output, not a failure"));
            }
            Kind::Message { .. } | Kind::Document { .. } => {
                return Err(no_word(*number, "a task or its result"));
            }
        }
    }
    if out.is_empty() {
        let number = all.first().map_or(0, |(number, _)| *number);
        return Err(no_word(number, "at least one result"));
    }
    Ok(Tree::List(out))
}
