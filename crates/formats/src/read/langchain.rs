//! Messages of langchain-core as `messages_to_dict`, `model_dump` or `dumpd` write them; actions, steps
//! and finishes of its agents.

use super::Reader;
use crate::item::{Form, Item, Kind};
use crate::node::Node;
use protocol::{Code, Fault};

const TYPES: [(&str, &str); 8] = [
    ("human", "user"),
    ("ai", "assistant"),
    ("system", "system"),
    ("tool", "tool"),
    ("function", "function"),
    ("chat", "chat"),
    ("developer", "developer"),
    ("remove", "remove"),
];

pub(super) fn read(reader: &mut Reader, root: &Node<'_>) {
    if root.is_list() {
        for one in reader.ok(root.items()).unwrap_or_default() {
            part(reader, &one);
        }
    } else if body(root).is_some() || is_agent(root) {
        part(reader, root);
    } else if root.is_object() {
        let before = reader.items.len();
        let intent = if root.get("messages").is_some() {
            "llm.completion.request"
        } else {
            "llm.document"
        };
        reader.document(root, intent);
        nested(reader, root, None);
        if reader.items.len() == before + 1 {
            reader.note(root.fault(
                Code::TypeMismatch,
                "expected messages of langchain-core, or one in an object, got none",
            ));
        }
    } else {
        reader.note(root.wrong("a message as an object, or an array of them"));
    }
}

/// The messages anywhere below, each once: steps of a graph repeat what was said before.
pub(super) fn nested(reader: &mut Reader, node: &Node<'_>, speaker: Option<&str>) {
    let mut seen = std::collections::HashSet::new();
    find(reader, node, speaker, &mut seen);
}

/// Documents have a limited depth, so this may recurse.
pub(super) fn find<'d>(
    reader: &mut Reader,
    node: &Node<'d>,
    speaker: Option<&str>,
    seen: &mut std::collections::HashSet<&'d str>,
) {
    if body(node).is_some() {
        if seen.insert(node.value.raw()) {
            let from = reader.items.len();
            message(reader, node);
            let Some(speaker) = speaker else { return };
            for item in reader
                .items
                .iter_mut()
                .skip(from)
                .filter(|item| item.is_own)
            {
                let speaker = item.speaker.get_or_insert_with(|| speaker.to_owned());
                if let Kind::Call { id, .. } = &item.kind {
                    reader.calls.insert(id.clone(), Some(speaker.clone()));
                }
            }
        }
        return;
    }
    for child in node.children() {
        find(reader, &child, speaker, seen);
    }
}

fn is_agent(node: &Node<'_>) -> bool {
    let inside = unpacked(node);
    inside.get("tool").is_some() && inside.get("tool_input").is_some()
        || inside.get("return_values").is_some()
        || (node.get("action").is_some() && node.value.get("observation").is_some())
}

/// What a constructor of `dumpd` holds, or the value itself.
fn unpacked<'d>(node: &Node<'d>) -> Node<'d> {
    let is_packed = node.get("lc").is_some();
    node.get("kwargs")
        .filter(|_| is_packed)
        .unwrap_or_else(|| node.clone())
}

/// The type and the members of a message, in any of the three forms.
pub(crate) fn body<'d>(node: &Node<'d>) -> Option<(String, Node<'d>)> {
    if !node.is_object() {
        return None;
    }
    let (word, body) = if node.get("lc").is_some() {
        let class = node.get("id")?.children().pop()?.text().ok()?;
        let body = node.get("kwargs")?;
        (body.text_of("type").unwrap_or(class), body)
    } else if let Some(data) = node.get("data").filter(Node::is_object) {
        (node.text_of("type")?, data)
    } else {
        (node.text_of("type")?, node.clone())
    };
    // The class of a message, or its type, which for chunks is the class.
    let is_class = node.get("lc").is_some() || word.ends_with("MessageChunk");
    let word = if is_class {
        let class = word.trim_end_matches("Chunk").trim_end_matches("Message");
        class.to_ascii_lowercase()
    } else {
        word
    };
    let known = TYPES.iter().find(|(known, _)| *known == word)?;
    // A message always has a content, also when it is empty.
    body.value.get("content")?;
    Some((known.1.to_owned(), body))
}

fn part(reader: &mut Reader, node: &Node<'_>) {
    let pair = node.value.items().count() == 2;
    let read = if is_agent(node) {
        agent(reader, node)
    } else if let (true, [action, observation]) = (pair, node.children().as_slice())
        && is_agent(action)
    {
        step(reader, node, action, Some(observation))
    } else {
        message(reader, node);
        Ok(())
    };
    reader.ok(read);
}

/// An action calls, a finish is said, and a step is an action with what came of it.
fn agent(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    if let Some(action) = unpacked(node).get("action") {
        let inside = unpacked(node);
        return step(reader, node, &action, inside.get("observation").as_ref());
    }
    if unpacked(node).get("return_values").is_some() {
        let from = inner(node, "return_values");
        let kind = Kind::Message {
            role: "assistant".into(),
        };
        reader.push(Item::new(&node.pointer, kind).content(Some(&from), Form::Value));
        return Ok(());
    }
    step(reader, node, node, None)
}

fn step(
    reader: &mut Reader,
    node: &Node<'_>,
    action: &Node<'_>,
    observation: Option<&Node<'_>>,
) -> Result<(), Fault> {
    let name = unpacked(action).need_text("tool")?;
    let id = reader.call_id(None, &name);
    let from = inner(action, "tool_input");
    let kind = Kind::Call {
        id: id.clone(),
        name: name.clone(),
    };
    if action.pointer != node.pointer {
        reader.document(node, "agent.step");
    }
    reader.call(Item::new(&action.pointer, kind).content(Some(&from), Form::Value));
    if let Some(observation) = observation {
        let call = reader.result_of(None, &name);
        let kind = Kind::Result {
            call,
            name: Some(name),
            is_error: false,
        };
        reader.result(Item::new(&observation.pointer, kind).content(Some(""), Form::Value));
    }
    Ok(())
}

/// Where a member stands, counted from the item.
fn inner(node: &Node<'_>, name: &str) -> String {
    let packed = if node.get("lc").is_some() {
        "/kwargs"
    } else {
        ""
    };
    format!("{packed}/{name}")
}

fn message(reader: &mut Reader, node: &Node<'_>) {
    let read = read_message(reader, node);
    reader.ok(read);
}

fn read_message(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let Some((role, body)) = body(node) else {
        let detail = "expected a message of langchain-core with `type` and `content`, as messages_to_dict, \
                      model_dump or dumpd write it";
        return Err(node.fault(Code::TypeMismatch, detail));
    };
    let prefix = body
        .pointer
        .get(node.pointer.len()..)
        .unwrap_or_default()
        .to_owned();
    let content = body.get("content").map(|_| format!("{prefix}/content"));
    let name = body.text_of("name");
    let is_error = body.is_text("status", "error");
    let result = |call, name| {
        let kind = Kind::Result {
            call,
            name,
            is_error,
        };
        Item::new(&node.pointer, kind).content(content.as_deref(), Form::Value)
    };
    match &*role {
        "tool" => {
            let call = body.need_text("tool_call_id")?;
            reader.whole(result(call, name), "tool");
        }
        "function" => {
            let name = body.need_text("name")?;
            let call = reader.result_of(None, &name);
            reader.whole(result(call, Some(name)), "tool");
        }
        _ => {
            let role = body
                .text_of("role")
                .filter(|_| role == "chat")
                .unwrap_or(role);
            let item = Item::new(&node.pointer, Kind::Message { role });
            reader.push(item.content(content.as_deref(), Form::Value).speaker(name));
            if let Some(calls) = body.get("tool_calls") {
                for call in calls.items()? {
                    let read = tool_call(reader, &call);
                    reader.ok(read);
                }
            }
        }
    }
    Ok(())
}

fn tool_call(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let name = node.need_text("name")?;
    let arguments = node.get("args");
    if let Some(arguments) = arguments.as_ref().filter(|one| !one.is_object()) {
        return Err(arguments.wrong("an object"));
    }
    let id = reader.call_id(node.text_of("id"), &name);
    let item = Item::new(&node.pointer, Kind::Call { id, name });
    reader.call(item.content(arguments.map(|_| "/args"), Form::Value));
    Ok(())
}
