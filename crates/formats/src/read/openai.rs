//! Chat Completions: messages, tool calls, the older function call. Responses: items of input and output.

use super::{Reader, time};
use crate::item::{Form, Item, Kind};
use crate::node::Node;
use protocol::{Code, Fault};

const ROLES: &str = "system, developer, user, assistant, tool or function";

pub(super) fn read(reader: &mut Reader, root: &Node<'_>) {
    if root.is_list() {
        for item in reader.ok(root.items()).unwrap_or_default() {
            part(reader, &item);
        }
        return;
    }
    if !root.is_object() {
        reader.note(root.wrong("an object or an array"));
        return;
    }
    if root.is_text("object", "chat.completion.chunk") {
        let detail =
            "expected a whole completion, got a chunk of one; put the chunks together first";
        reader.note(root.fault(Code::EnumUnknown, detail));
        return;
    }
    reader.time = time(root.any(&["created", "created_at"]));
    if let Some(choices) = root.get("choices") {
        reader.id = root.text_of("id");
        reader.document(root, "llm.completion.response");
        let choices = reader.ok(choices.items()).unwrap_or_default();
        for choice in choices {
            if let Some(one) = reader.ok(choice.need("message")) {
                message(reader, &one);
            }
        }
    } else if let Some(output) = root.get("output").filter(|_| root.get("type").is_none()) {
        reader.id = root.text_of("id");
        let conversation = root.get("conversation");
        reader.conversation = conversation.and_then(|one| one.text_of("id"));
        reader.document(root, "llm.completion.response");
        parts(reader, &output);
    } else if let Some(messages) = root.get("messages") {
        reader.document(root, "llm.completion.request");
        parts(reader, &messages);
    } else if let Some(input) = root.get("input").filter(|_| root.get("type").is_none()) {
        reader.document(root, "llm.completion.request");
        if input.is_list() {
            parts(reader, &input);
        } else if let Err(fault) = input.text() {
            reader.note(fault);
        }
    } else if let Some(tools) = root.get("tools") {
        if reader.ok(tools.items()).is_some() {
            reader.document(root, "llm.tools.declared");
        }
    } else {
        part(reader, root);
    }
}

fn parts(reader: &mut Reader, list: &Node<'_>) {
    for item in reader.ok(list.items()).unwrap_or_default() {
        part(reader, &item);
    }
}

/// A message, or an item of the Responses API.
fn part(reader: &mut Reader, node: &Node<'_>) {
    if !node.is_object() {
        reader.note(node.wrong("a message or an item as an object"));
        return;
    }
    let kind = node.text_of("type");
    let done = match kind.as_deref() {
        Some("function_call") => item_call(reader, node, "/arguments", Form::Text),
        Some("custom_tool_call") => item_call(reader, node, "/input", Form::Value),
        Some("function_call_output" | "custom_tool_call_output") => item_result(reader, node),
        Some(kind) if node.get("role").is_none() && kind != "message" => {
            // Reasoning, searches and the like: said by the model, and carried.
            reader.push(Item::new(&node.pointer, said("assistant")));
            Ok(())
        }
        Some(_) | None => {
            message(reader, node);
            Ok(())
        }
    };
    reader.ok(done);
}

fn said(role: &str) -> Kind {
    Kind::Message { role: role.into() }
}

fn item_call(reader: &mut Reader, node: &Node<'_>, at: &str, form: Form) -> Result<(), Fault> {
    let (id, name) = (node.need_text("call_id")?, node.need_text("name")?);
    node.need_text(at.trim_start_matches('/'))?;
    let item = Item::new(&node.pointer, Kind::Call { id, name });
    reader.whole(item.content(Some(at), form), "assistant");
    Ok(())
}

fn item_result(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let call = node.need_text("call_id")?;
    let output = node.need("output")?;
    if !output.is_list() {
        output.text()?;
    }
    let item = result(node, call, None).content(Some("/output"), Form::Value);
    reader.whole(item, "tool");
    Ok(())
}

fn result(node: &Node<'_>, call: String, name: Option<String>) -> Item {
    let kind = Kind::Result {
        call,
        name,
        is_error: false,
    };
    Item::new(&node.pointer, kind)
}

fn message(reader: &mut Reader, node: &Node<'_>) {
    let read = read_message(reader, node);
    reader.ok(read);
}

fn read_message(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let role = node.need_text("role")?;
    let content = node.get("content");
    if let Some(content) = &content
        && !content.is_list()
    {
        content.text()?;
    }
    let content = content.map(|_| "/content");
    match &*role {
        "tool" => {
            let call = node.need_text("tool_call_id")?;
            let item = result(node, call, node.text_of("name"));
            reader.whole(item.content(content, Form::Value), "tool");
        }
        "function" => {
            let name = node.need_text("name")?;
            let call = reader.result_of(None, &name);
            let item = result(node, call, Some(name));
            reader.whole(item.content(content, Form::Value), "tool");
        }
        "system" | "developer" | "user" | "assistant" => {
            let item = Item::new(&node.pointer, said(&role)).content(content, Form::Value);
            reader.push(item.speaker(node.text_of("name")));
            if let Some(calls) = node.get("tool_calls") {
                for call in calls.items()? {
                    let read = tool_call(reader, &call);
                    reader.ok(read);
                }
            }
            if let Some(call) = node.get("function_call") {
                let name = call.need_text("name")?;
                call.need_text("arguments")?;
                let id = reader.call_id(None, &name);
                let item = Item::new(&call.pointer, Kind::Call { id, name });
                reader.call(item.content(Some("/arguments"), Form::Text));
            }
        }
        other => {
            let other: String = other.chars().take(32).collect();
            let detail = format!("expected {ROLES}, got {other:?}");
            return Err(node.need("role")?.fault(Code::EnumUnknown, detail));
        }
    }
    Ok(())
}

fn tool_call(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let id = node.need_text("id")?;
    let (part, content, form) = match node.text_of("type").as_deref() {
        Some("function") | None => ("function", "arguments", Form::Text),
        Some("custom") => ("custom", "input", Form::Value),
        // Of a kind that is not known here: carried in its message.
        Some(_) => return Ok(()),
    };
    let called = node.need(part)?;
    let name = called.need_text("name")?;
    called.need_text(content)?;
    let item = Item::new(&node.pointer, Kind::Call { id, name });
    reader.call(item.content(Some(&format!("/{part}/{content}")), form));
    Ok(())
}
