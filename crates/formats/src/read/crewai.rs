//! Outputs of tasks and of crews. A task's description is what was asked for; the rest is its result.

use super::Reader;
use crate::item::{Form, Item, Kind};
use crate::node::Node;
use protocol::Fault;

pub(super) fn read(reader: &mut Reader, root: &Node<'_>) {
    if root.is_list() {
        for one in reader.ok(root.items()).unwrap_or_default() {
            output(reader, &one);
        }
    } else if let Some(outputs) = root.get("tasks_output") {
        reader.document(root, "agent.crew.output");
        for one in reader.ok(outputs.items()).unwrap_or_default() {
            output(reader, &one);
        }
    } else {
        output(reader, root);
    }
}

fn output(reader: &mut Reader, node: &Node<'_>) {
    let read = read_output(reader, node);
    reader.ok(read);
}

fn read_output(reader: &mut Reader, node: &Node<'_>) -> Result<(), Fault> {
    let description = node.need("description")?;
    description.text()?;
    node.need_text("raw")?;
    let agent = node.need_text("agent")?;
    let name = node.text_of("name").unwrap_or_else(|| "task".into());
    let id = reader.call_id(None, &name);
    let call = reader.result_of(None, &name);
    let asked = Kind::Call {
        id,
        name: name.clone(),
    };
    let item = Item::new(&description.pointer, asked).content(Some(""), Form::Value);
    reader.call(item.speaker(Some(agent.clone())).own(false));
    let from = if node.get("json_dict").is_some() {
        "/json_dict"
    } else {
        "/raw"
    };
    let kind = Kind::Result {
        call,
        name: Some(name),
        is_error: false,
    };
    let item = Item::new(&node.pointer, kind).content(Some(from), Form::Value);
    reader.result(item.speaker(Some(agent)).own(true));
    Ok(())
}
