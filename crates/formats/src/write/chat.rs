//! Chats: OpenAI's, Anthropic's, Google's and LangChain's messages. Calls that follow each other are made
//! by one message, as are results where one message may hold several.

use super::{Said, plain};
use crate::item::Kind;
use crate::tree::Tree;

/// What one message holds.
enum Turn<'s> {
    Calls(Vec<(&'s str, &'s str, &'s Said)>),
    Results(Vec<(&'s str, &'s str, bool, &'s Said)>),
    Text(&'s Said),
}

fn turns<'s>(all: &[&'s Said]) -> Vec<Turn<'s>> {
    let mut turns: Vec<Turn<'s>> = Vec::new();
    for said in all {
        match (&said.kind, turns.last_mut()) {
            (Kind::Call { id, name }, Some(Turn::Calls(calls))) => calls.push((id, name, said)),
            (Kind::Call { id, name }, _) => turns.push(Turn::Calls(vec![(id, name, said)])),
            (
                Kind::Result {
                    call,
                    name,
                    is_error,
                },
                last,
            ) => {
                let name = name.as_deref().unwrap_or("tool");
                let one = (&**call, name, *is_error, *said);
                match last {
                    Some(Turn::Results(results)) => results.push(one),
                    _ => turns.push(Turn::Results(vec![one])),
                }
            }
            (Kind::Message { .. } | Kind::Document { .. }, _) => turns.push(Turn::Text(said)),
        }
    }
    turns
}

fn t(text: &str) -> Tree {
    Tree::text(text)
}

pub(super) fn openai(all: &[&Said]) -> Tree {
    let mut out = Vec::new();
    for turn in turns(all) {
        match turn {
            Turn::Calls(calls) => {
                let calls = calls.iter().map(|(id, name, said)| {
                    let function =
                        Tree::object([("name", t(name)), ("arguments", t(&said.arguments()))]);
                    Tree::object([
                        ("id", t(id)),
                        ("type", t("function")),
                        ("function", function),
                    ])
                });
                out.push(Tree::object([
                    ("role", t("assistant")),
                    ("content", Tree::null()),
                    ("tool_calls", Tree::List(calls.collect())),
                ]));
            }
            Turn::Results(results) => out.extend(results.iter().map(|(call, _, _, said)| {
                Tree::object([
                    ("role", t("tool")),
                    ("tool_call_id", t(call)),
                    ("content", t(&said.text())),
                ])
            })),
            Turn::Text(said) => out.push(Tree::object([
                ("role", t(said.role())),
                ("content", t(&said.text())),
            ])),
        }
    }
    Tree::List(out)
}

pub(super) fn anthropic(all: &[&Said]) -> Tree {
    let message = |role: &str, content| Tree::object([("role", t(role)), ("content", content)]);
    let out = turns(all).into_iter().map(|turn| match turn {
        Turn::Calls(calls) => {
            let blocks = calls.iter().map(|(id, name, said)| {
                Tree::object([
                    ("type", t("tool_use")),
                    ("id", t(id)),
                    ("name", t(name)),
                    ("input", said.content.clone()),
                ])
            });
            message("assistant", Tree::List(blocks.collect()))
        }
        Turn::Results(results) => {
            let blocks = results.iter().map(|(call, _, is_error, said)| {
                let mut block = Tree::object([
                    ("type", t("tool_result")),
                    ("tool_use_id", t(call)),
                    ("content", t(&said.text())),
                ]);
                if *is_error {
                    block.push("is_error", Tree::flag(true));
                }
                block
            });
            message("user", Tree::List(blocks.collect()))
        }
        Turn::Text(said) => {
            // There is no such role among the messages; what a system says is told by the user.
            let role = if said.role() == "assistant" {
                "assistant"
            } else {
                "user"
            };
            message(role, t(&said.text()))
        }
    });
    Tree::List(out.collect())
}

pub(super) fn google(all: &[&Said]) -> Tree {
    let content =
        |role: &str, parts| Tree::object([("role", t(role)), ("parts", Tree::List(parts))]);
    let out = turns(all).into_iter().map(|turn| match turn {
        Turn::Calls(calls) => {
            let parts = calls.iter().map(|(id, name, said)| {
                let call = Tree::object([
                    ("id", t(id)),
                    ("name", t(name)),
                    ("args", said.content.clone()),
                ]);
                Tree::object([("functionCall", call)])
            });
            content("model", parts.collect())
        }
        Turn::Results(results) => {
            let parts = results.iter().map(|(call, name, is_error, said)| {
                let response = match (&said.content, is_error) {
                    (Tree::Object(_), false) => said.content.clone(),
                    (other, false) => Tree::object([("output", other.clone())]),
                    (other, true) => Tree::object([("error", t(&plain(other)))]),
                };
                let response =
                    Tree::object([("id", t(call)), ("name", t(name)), ("response", response)]);
                Tree::object([("functionResponse", response)])
            });
            content("user", parts.collect())
        }
        Turn::Text(said) => {
            let role = if said.role() == "assistant" {
                "model"
            } else {
                "user"
            };
            content(role, vec![Tree::object([("text", t(&said.text()))])])
        }
    });
    Tree::List(out.collect())
}

/// In the form of `messages_to_dict`.
pub(super) fn langchain(all: &[&Said]) -> Tree {
    let message = |kind: &str, content: Tree, more: Vec<(&str, Tree)>| {
        let mut data = Tree::object([("type", t(kind)), ("content", content)]);
        for (name, value) in more {
            data.push(name, value);
        }
        Tree::object([("type", t(kind)), ("data", data)])
    };
    let mut out = Vec::new();
    for turn in turns(all) {
        match turn {
            Turn::Calls(calls) => {
                let calls = calls.iter().map(|(id, name, said)| {
                    Tree::object([
                        ("type", t("tool_call")),
                        ("id", t(id)),
                        ("name", t(name)),
                        ("args", said.content.clone()),
                    ])
                });
                let calls = Tree::List(calls.collect());
                out.push(message("ai", t(""), vec![("tool_calls", calls)]));
            }
            Turn::Results(results) => {
                out.extend(results.iter().map(|(call, name, is_error, said)| {
                    let status = if *is_error { "error" } else { "success" };
                    let more = vec![
                        ("tool_call_id", t(call)),
                        ("name", t(name)),
                        ("status", t(status)),
                    ];
                    message("tool", t(&said.text()), more)
                }));
            }
            Turn::Text(said) => {
                let kind = match said.role() {
                    "user" => "human",
                    "system" => "system",
                    _ => "ai",
                };
                out.push(message(kind, t(&said.text()), Vec::new()));
            }
        }
    }
    Tree::List(out)
}
