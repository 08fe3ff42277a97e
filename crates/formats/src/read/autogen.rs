//! Messages and events of autogen-agentchat, messages of autogen-core, and what holds them.

use super::{Reader, time};
use crate::item::{Form, Item, Kind};
use crate::node::Node;
use protocol::{Code, Fault};

pub(super) fn read(reader: &mut Reader, root: &Node<'_>) {
    if root.is_list() {
        for one in reader.ok(root.items()).unwrap_or_default() {
            message(reader, &one);
        }
    } else if let Some(messages) = root.get("messages") {
        reader.document(root, "agent.task.result");
        for one in reader.ok(messages.items()).unwrap_or_default() {
            message(reader, &one);
        }
    } else if let Some(said) = root.get("chat_message") {
        reader.document(root, "agent.response");
        // What led to it came before it.
        if let Some(inner) = root.get("inner_messages") {
            for one in reader.ok(inner.items()).unwrap_or_default() {
                message(reader, &one);
            }
        }
        message(reader, &said);
    } else {
        message(reader, root);
    }
}

fn message(reader: &mut Reader, node: &Node<'_>) {
    let read = read_message(reader, node);
    reader.ok(read);
}

fn read_message(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let kind = node.need_text("type")?;
    if !kind.contains("Message") && !kind.ends_with("Event") {
        let kind: String = kind.chars().take(64).collect();
        let detail = format!("expected the name of a message or an event, got {kind:?}");
        return Err(node.need("type")?.fault(Code::EnumUnknown, detail));
    }
    let when = time(node.get("created_at"));
    let source = node.text_of("source");
    let is_own =
        source.as_deref() != Some("user") && kind != "SystemMessage" && kind != "UserMessage";
    let is_partial = kind == "ModelClientStreamingChunkEvent";
    let content = node.get("content");
    let item = Item::new(&node.pointer, Kind::Message { role: kind })
        .content(content.as_ref().map(|_| "/content"), Form::Value)
        .speaker(source.clone())
        .time(when)
        .own(is_own);
    reader.push(Item { is_partial, ..item });
    let Some(content) = content.filter(Node::is_list) else {
        return Ok(());
    };
    for part in content.children() {
        let read = if part.get("arguments").is_some() && part.get("name").is_some() {
            call(reader, &part, source.clone(), when)
        } else if part.get("call_id").is_some() {
            result(reader, &part, source.clone(), when)
        } else {
            Ok(())
        };
        reader.ok(read);
    }
    Ok(())
}

type When = Option<protocol::Timestamp>;

fn call(reader: &mut Reader, node: &Node<'_>, by: Option<String>, when: When) -> Result<(), Fault> {
    let (id, name) = (node.need_text("id")?, node.need_text("name")?);
    node.need_text("arguments")?;
    let item = Item::new(&node.pointer, Kind::Call { id, name });
    let item = item.content(Some("/arguments"), Form::Text);
    reader.call(item.speaker(by).time(when));
    Ok(())
}

fn result(
    reader: &mut Reader,
    node: &Node<'_>,
    to: Option<String>,
    when: When,
) -> Result<(), Fault> {
    let is_error = node.get("is_error");
    let kind = Kind::Result {
        call: node.need_text("call_id")?,
        name: node.text_of("name"),
        is_error: is_error.is_some_and(|one| one.value.as_bool() == Some(true)),
    };
    node.need_text("content")?;
    let item = Item::new(&node.pointer, kind).content(Some("/content"), Form::Value);
    reader.result(item.speaker(to).time(when));
    Ok(())
}
