//! Messages of Anthropic: content blocks, of which `tool_use` calls and `tool_result` answers.

use super::Reader;
use crate::item::{Form, Item, Kind};
use crate::node::Node;
use protocol::{Code, Fault};

pub(super) fn read(reader: &mut Reader, root: &Node<'_>) {
    if root.is_list() {
        for item in reader.ok(root.items()).unwrap_or_default() {
            part(reader, &item);
        }
    } else if let Some(messages) = root.get("messages") {
        reader.document(root, "llm.completion.request");
        for one in reader.ok(messages.items()).unwrap_or_default() {
            message(reader, &one);
        }
    } else if root.get("tools").is_some() && root.get("role").is_none() {
        reader.document(root, "llm.tools.declared");
    } else {
        if root.is_text("type", "message") {
            reader.id = root.text_of("id");
        }
        part(reader, root);
    }
}

/// A message, or a block that stands alone.
fn part(reader: &mut Reader, node: &Node<'_>) {
    if node.get("role").is_none() && node.get("type").is_some() {
        let read = block(reader, node);
        if reader.ok(read) == Some(false) {
            let kind = Kind::Message {
                role: "assistant".into(),
            };
            reader.push(Item::new(&node.pointer, kind));
        }
    } else {
        message(reader, node);
    }
}

fn message(reader: &mut Reader, node: &Node<'_>) {
    let read = read_message(reader, node);
    reader.ok(read);
}

fn read_message(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let role = node.need_text("role")?;
    if !matches!(&*role, "user" | "assistant" | "system") {
        let other: String = role.chars().take(32).collect();
        let detail = format!("expected user, assistant or system, got {other:?}");
        return Err(node.need("role")?.fault(Code::EnumUnknown, detail));
    }
    let content = node.need("content")?;
    let item = Item::new(&node.pointer, Kind::Message { role });
    reader.push(item.content(Some("/content"), Form::Value));
    if content.is_list() {
        for one in content.children() {
            let read = block(reader, &one);
            reader.ok(read);
        }
        return Ok(());
    }
    content.text().map(drop)
}

/// Whether the block is a call or a result of its own. Those that the provider's own servers make and
/// answer are among them.
fn block(reader: &mut Reader, node: &Node<'_>) -> Result<bool, Fault> {
    let kind = node.need_text("type")?;
    if kind == "tool_use" || kind.ends_with("_tool_use") {
        let (id, name) = (node.need_text("id")?, node.need_text("name")?);
        if !node.need("input")?.is_object() {
            return Err(node.need("input")?.wrong("an object"));
        }
        let item = Item::new(&node.pointer, Kind::Call { id, name });
        return Ok(reader.call(item.content(Some("/input"), Form::Value)));
    }
    if kind == "tool_result" || kind.ends_with("_tool_result") {
        let call = node.need_text("tool_use_id")?;
        let content = node.get("content");
        let is_error = node
            .get("is_error")
            .is_some_and(|one| one.value.as_bool() == Some(true));
        let kind = Kind::Result {
            call,
            name: None,
            is_error,
        };
        let item = Item::new(&node.pointer, kind);
        let content = content.map(|_| "/content");
        return Ok(reader.result(item.content(content, Form::Value)));
    }
    Ok(false)
}
