//! Whose form a document is, by what only that framework writes.

use crate::Format;
use crate::node::Node;
use crate::read::{is_declaration, is_declared, langchain_body};
use protocol::json::Value;

/// Items of a list that are looked at.
const LOOK: usize = 64;

/// The framework that writes such documents; `None` when it is none that is known. Plain messages with
/// `role` and `content`, which several would take, count as OpenAI's.
#[must_use]
pub fn detect(root: Value<'_>) -> Option<Format> {
    let root = Node::root(root);
    if let Some(found) = of(&root) {
        return Some(found);
    }
    let mut found = None;
    for item in root.value.items().take(LOOK) {
        match of(&Node::root(item)) {
            // Its plain messages are written by others, too.
            Some(Format::OpenAi) if found.is_none() => found = Some(Format::OpenAi),
            Some(Format::OpenAi) | None => {}
            Some(other) => return Some(other),
        }
    }
    found
}

type Test = fn(&Node<'_>) -> bool;

fn of(node: &Node<'_>) -> Option<Format> {
    let tests: [(Format, Test); 7] = [
        (Format::LangGraph, is_langgraph),
        (Format::LangChain, is_langchain),
        (Format::CrewAi, is_crewai),
        (Format::AutoGen, is_autogen),
        (Format::Google, is_google),
        (Format::Anthropic, is_anthropic),
        (Format::OpenAi, is_openai),
    ];
    let found = tests.into_iter().find(|(_, is_it)| is_it(node));
    found.map(|(format, _)| format)
}

fn has(node: &Node<'_>, names: &[&str]) -> bool {
    names.iter().all(|name| node.value.get(name).is_some())
}

fn first_of(node: &Node<'_>, name: &str, is_it: impl Fn(&Node<'_>) -> bool) -> bool {
    let list = node.get(name).filter(Node::is_list);
    list.is_some_and(|list| {
        let mut items = list.value.items().take(LOOK);
        items.any(|item| is_it(&Node::root(item)))
    })
}

fn is_object(node: &Node<'_>) -> bool {
    node.is_object()
}

fn is_langgraph(node: &Node<'_>) -> bool {
    let is_event = has(node, &["step", "type", "payload"]);
    let is_state = has(node, &["values", "next", "config"]) || has(node, &["v", "channel_values"]);
    let is_task = has(node, &["id", "name", "triggers"])
        || has(node, &["id", "name", "error", "result", "interrupts"]);
    let is_pair = node.is_list()
        && matches!(node.children().as_slice(), [.., mode, step]
            if step.is_object() && mode.text().is_ok_and(|mode| is_mode(&mode)));
    let is_values =
        has(node, &["messages"]) && first_of(node, "messages", |one| langchain_body(one).is_some());
    let is_update = node.is_object()
        && !node.children().is_empty()
        && node.children().iter().all(|update| {
            update.is_object()
                && update.children().iter().any(|channel| {
                    channel
                        .children()
                        .iter()
                        .take(LOOK)
                        .any(|one| langchain_body(one).is_some())
                })
        });
    is_event || is_state || is_task || is_pair || is_values || is_update
}

fn is_mode(word: &str) -> bool {
    [
        "values",
        "updates",
        "debug",
        "tasks",
        "checkpoints",
        "messages",
        "custom",
    ]
    .contains(&word)
}

fn is_langchain(node: &Node<'_>) -> bool {
    let is_pair =
        node.is_list() && matches!(node.children().as_slice(), [one, _] if is_action(one));
    has(node, &["lc", "id"])
        || langchain_body(node).is_some()
        || is_action(node)
        || has(node, &["action", "observation"])
        || has(node, &["return_values", "log"])
        || is_pair
}

fn is_action(node: &Node<'_>) -> bool {
    has(node, &["tool", "tool_input"])
}

fn is_crewai(node: &Node<'_>) -> bool {
    has(node, &["description", "raw", "agent"]) || has(node, &["raw", "tasks_output"])
}

fn is_autogen(node: &Node<'_>) -> bool {
    let is_core = [
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
        "FunctionExecutionResultMessage",
    ];
    let is_said = |one: &Node<'_>| {
        let kind = one.text_of("type").unwrap_or_default();
        let is_named = kind.contains("Message") || kind.ends_with("Event");
        (has(one, &["source"]) && is_named && one.get("lc").is_none())
            || is_core.contains(&kind.as_str())
    };
    is_said(node)
        || (has(node, &["stop_reason"]) && first_of(node, "messages", is_said))
        || node.get("chat_message").is_some_and(|one| is_said(&one))
}

fn is_google(node: &Node<'_>) -> bool {
    let is_part = |one: &Node<'_>| {
        let names = [
            "functionCall",
            "function_call",
            "functionResponse",
            "function_response",
        ];
        one.get("role").is_none() && names.iter().any(|name| one.get(name).is_some())
    };
    let declares = |one: &Node<'_>| {
        one.any(&["functionDeclarations", "function_declarations"])
            .is_some()
    };
    let is_bare =
        is_declaration(node) && node.get("input_schema").is_none() && node.get("type").is_none();
    first_of(node, "parts", is_object)
        || first_of(node, "candidates", is_object)
        || has(node, &["contents"])
        || is_part(node)
        || declares(node)
        || (is_declared(node) && first_of(node, "tools", declares))
        || is_bare
}

fn is_anthropic(node: &Node<'_>) -> bool {
    let is_block = |one: &Node<'_>| {
        let kind = one.text_of("type").unwrap_or_default();
        kind.ends_with("tool_use")
            || (kind.ends_with("tool_result") && one.get("tool_use_id").is_some())
            || matches!(&*kind, "thinking" | "redacted_thinking")
    };
    let is_message = |one: &Node<'_>| first_of(one, "content", is_block);
    let is_whole =
        node.is_text("type", "message") && has(node, &["role", "content", "stop_reason"]);
    let is_tool = |one: &Node<'_>| one.get("input_schema").is_some();
    is_whole
        || is_block(node)
        || is_message(node)
        || is_tool(node)
        || first_of(node, "messages", is_message)
        || first_of(node, "tools", is_tool)
        || has(node, &["messages", "max_tokens", "system"])
}

fn is_openai(node: &Node<'_>) -> bool {
    let kind = node.text_of("type").unwrap_or_default();
    let object = node.text_of("object").unwrap_or_default();
    first_of(node, "choices", is_object)
        || object.starts_with("chat.completion")
        || object == "response"
        || node.get("role").is_some_and(|role| role.text().is_ok())
        || kind.contains("function_call")
        || kind.contains("custom_tool_call")
        || has(node, &["model", "input"])
        || first_of(node, "messages", |one| one.get("role").is_some())
        || first_of(node, "tools", |one| one.is_text("type", "function"))
        || (kind == "function" && node.any(&["function", "name"]).is_some())
}
