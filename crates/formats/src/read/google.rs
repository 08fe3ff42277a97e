//! Contents of Google's models: parts, of which function calls ask and function responses answer. Names
//! are read in both spellings, the interface's and Python's.

use super::{Reader, time};
use crate::item::{Form, Item, Kind};
use crate::node::Node;
use protocol::Fault;

const CALL: [&str; 2] = ["functionCall", "function_call"];
const RESPONSE: [&str; 2] = ["functionResponse", "function_response"];
pub(crate) const DECLARATIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];

pub(super) fn read(reader: &mut Reader, root: &Node<'_>) {
    if root.is_list() {
        let parts = reader.ok(root.items()).unwrap_or_default();
        if !parts.is_empty()
            && parts
                .iter()
                .all(|one| is_declared(one) || is_declaration(one))
        {
            reader.document(root, "llm.tools.declared");
            return;
        }
        for one in parts {
            part_or_content(reader, &one);
        }
    } else if let Some(candidates) = root.get("candidates") {
        reader.id = root
            .any(&["responseId", "response_id"])
            .and_then(|id| id.text().ok());
        reader.time = time(root.any(&["createTime", "create_time"]));
        reader.document(root, "llm.completion.response");
        for candidate in reader.ok(candidates.items()).unwrap_or_default() {
            if let Some(one) = candidate.get("content") {
                content(reader, &one);
            }
        }
    } else if let Some(contents) = root.get("contents") {
        reader.document(root, "llm.completion.request");
        if contents.is_list() {
            for one in contents.children() {
                if one.is_object() {
                    part_or_content(reader, &one);
                }
            }
        } else if contents.is_object() {
            part_or_content(reader, &contents);
        }
    } else if is_declared(root) || is_declaration(root) {
        reader.document(root, "llm.tools.declared");
    } else {
        part_or_content(reader, root);
    }
}

/// Whether it holds declarations of functions, itself or in its tools.
pub(crate) fn is_declared(node: &Node<'_>) -> bool {
    node.any(&DECLARATIONS).is_some()
        || (node.get("tools").is_some() && node.get("parts").is_none())
}

/// Whether it declares one function.
pub(crate) fn is_declaration(node: &Node<'_>) -> bool {
    node.get("name").is_some()
        && node.get("role").is_none()
        && node
            .any(&[
                "parameters",
                "parametersJsonSchema",
                "parameters_json_schema",
                "description",
            ])
            .is_some()
}

fn part_or_content(reader: &mut Reader, node: &Node<'_>) {
    if node.get("parts").is_none() && node.get("role").is_none() && node.is_object() {
        let read = part(reader, node);
        if reader.ok(read) == Some(false) {
            let kind = Kind::Message {
                role: "user".into(),
            };
            let text = node.get("text").map(|_| "/text");
            reader.push(Item::new(&node.pointer, kind).content(text, Form::Value));
        }
    } else {
        content(reader, node);
    }
}

fn content(reader: &mut Reader, node: &Node<'_>) {
    let read = read_content(reader, node);
    reader.ok(read);
}

fn read_content(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    if !node.is_object() {
        return Err(node.wrong("a content as an object"));
    }
    let role = node.get("role").map(|role| role.text()).transpose()?;
    let role = role.unwrap_or_else(|| "user".into());
    let parts = node.get("parts");
    let item = Item::new(&node.pointer, Kind::Message { role });
    reader.push(item.content(parts.as_ref().map(|_| "/parts"), Form::Value));
    let Some(parts) = parts else { return Ok(()) };
    for one in parts.items()? {
        if !one.is_object() {
            reader.note(one.wrong("a part as an object"));
            continue;
        }
        let read = part(reader, &one);
        reader.ok(read);
    }
    Ok(())
}

/// Whether the part is a call or a result of its own.
fn part(reader: &mut Reader, node: &Node<'_>) -> Result<bool, Fault> {
    if let Some(call) = node.any(&CALL) {
        let name = call.need_text("name")?;
        let arguments = call.get("args");
        if let Some(arguments) = arguments.as_ref().filter(|one| !one.is_object()) {
            return Err(arguments.wrong("an object"));
        }
        let id = reader.call_id(call.text_of("id"), &name);
        let from = format!(
            "{}/args",
            call.pointer.get(node.pointer.len()..).unwrap_or_default()
        );
        let item = Item::new(&node.pointer, Kind::Call { id, name });
        let from = arguments.map(|_| from);
        return Ok(reader.call(item.content(from.as_deref(), Form::Value)));
    }
    if let Some(response) = node.any(&RESPONSE) {
        let name = response.need_text("name")?;
        let said = response.get("response");
        if let Some(said) = said.as_ref().filter(|one| !one.is_object()) {
            return Err(said.wrong("an object"));
        }
        // "output" and "error" are the words that the interface gives for both ends.
        let is_error = said.as_ref().is_some_and(|one| one.get("error").is_some());
        let call = reader.result_of(response.text_of("id"), &name);
        let kind = Kind::Result {
            call,
            name: Some(name),
            is_error,
        };
        let below = response
            .pointer
            .get(node.pointer.len()..)
            .unwrap_or_default();
        let from = said.map(|_| format!("{below}/response"));
        let item = Item::new(&node.pointer, kind).content(from.as_deref(), Form::Value);
        return Ok(reader.result(item));
    }
    Ok(false)
}
