//! What a graph streams: updates, values, tasks, checkpoints and debug events, alone or as pairs with
//! their mode; and what it keeps: snapshots and checkpoints.

use super::{Reader, langchain, time};
use crate::item::{Form, Item, Kind};
use crate::node::Node;
use protocol::{Code, Fault};
use std::collections::HashSet;

pub(super) fn read(reader: &mut Reader, root: &Node<'_>) {
    let mut seen = HashSet::new();
    if root.is_list() && !is_pair(root) {
        for one in reader.ok(root.items()).unwrap_or_default() {
            step(reader, &one, &mut seen);
        }
        return;
    }
    if !root.is_object() && !is_pair(root) {
        reader.note(root.wrong("a step of a graph as an object, or an array of them"));
        return;
    }
    let config = root.get("config").and_then(|one| one.get("configurable"));
    reader.time = time(root.any(&["ts", "created_at", "timestamp"]));
    reader.conversation = config.as_ref().and_then(|one| one.text_of("thread_id"));
    // A snapshot is of a checkpoint and not the same document.
    let checkpoint = config.and_then(|one| one.text_of("checkpoint_id"));
    reader.id = checkpoint.map(|id| format!("snapshot.{id}"));
    if root.get("channel_values").is_some() {
        reader.id = root.text_of("id");
    }
    step(reader, root, &mut seen);
}

/// Whether it is a step with what stands before it: its mode, or the names of the graphs it is in.
pub(super) fn is_pair(node: &Node<'_>) -> bool {
    let parts = node.children();
    node.is_list()
        && matches!(parts.len(), 2 | 3)
        && parts.last().is_some_and(Node::is_object)
        && parts.iter().rev().skip(1).all(|one| {
            one.text().is_ok()
                || one
                    .items()
                    .is_ok_and(|all| all.iter().all(|t| t.text().is_ok()))
        })
}

fn step<'d>(reader: &mut Reader, node: &Node<'d>, seen: &mut HashSet<&'d str>) {
    let inside = match node.children().pop() {
        Some(last) if is_pair(node) => last,
        Some(_) | None => node.clone(),
    };
    if !inside.is_object() {
        reader.note(node.wrong("a step of a graph as an object"));
        return;
    }
    let when = time(inside.any(&["timestamp", "ts", "created_at"]));
    let event = inside.text_of("type");
    let told = inside.get("payload").filter(|_| event.is_some());
    let task = told.clone().unwrap_or_else(|| inside.clone());
    let is_task = task.get("id").is_some() && task.get("name").is_some();
    let read = if is_task && task.get("triggers").is_some() {
        asked(reader, node, &task, when)
    } else if is_task && task.value.get("result").is_some() {
        ended(reader, node, &task, when)
    } else {
        updated(reader, node, &inside, when, seen);
        Ok(())
    };
    reader.ok(read);
}

fn below(node: &Node<'_>, inside: &Node<'_>, name: &str) -> String {
    let prefix = inside.pointer.get(node.pointer.len()..).unwrap_or_default();
    format!("{prefix}/{name}")
}

fn asked(
    reader: &mut Reader,
    node: &Node<'_>,
    task: &Node<'_>,
    when: Option<protocol::Timestamp>,
) -> Result<(), Fault> {
    let (id, name) = (task.need_text("id")?, task.need_text("name")?);
    let from = task.get("input").map(|_| below(node, task, "input"));
    // The graph asks, and the node works.
    let item = Item::new(
        &node.pointer,
        Kind::Call {
            id,
            name: name.clone(),
        },
    );
    let item = item.content(from.as_deref(), Form::Value).time(when);
    reader.whole(item.speaker(Some(name)).own(false), "step");
    Ok(())
}

fn ended(
    reader: &mut Reader,
    node: &Node<'_>,
    task: &Node<'_>,
    when: Option<protocol::Timestamp>,
) -> Result<(), Fault> {
    let error = task.get("error");
    let name = task.need_text("name")?;
    let kind = Kind::Result {
        call: task.need_text("id")?,
        name: Some(name.clone()),
        is_error: error.is_some(),
    };
    let from = match error {
        Some(_) => Some("error"),
        None => task.get("result").map(|_| "result"),
    };
    let from = from.map(|name| below(node, task, name));
    let item = Item::new(&node.pointer, kind).content(from.as_deref(), Form::Value);
    reader.whole(item.time(when).speaker(Some(name)).own(true), "step");
    Ok(())
}

/// Nodes and what they changed, or a whole state.
fn updated<'d>(
    reader: &mut Reader,
    node: &Node<'d>,
    inside: &Node<'d>,
    when: Option<protocol::Timestamp>,
    seen: &mut HashSet<&'d str>,
) {
    let is_state = ["messages", "values", "channel_values", "payload"]
        .iter()
        .any(|name| inside.get(name).is_some());
    let intent = if is_state {
        "agent.state"
    } else {
        "agent.step"
    };
    let nodes = inside.children();
    if nodes.is_empty() {
        let detail = "expected a step with at least one node, got an empty object";
        reader.note(inside.fault(Code::TooShort, detail));
        return;
    }
    let names: Vec<_> = inside
        .value
        .members()
        .map(|(key, _)| key.text().into_owned())
        .collect();
    let only = names.first().filter(|_| names.len() == 1 && !is_state);
    let item = Item::new(&node.pointer, Kind::Document { intent });
    reader.push(item.time(when.or(reader.time)).speaker(only.cloned()));
    for (name, child) in names.iter().zip(nodes) {
        let speaker = (!is_state).then_some(name.as_str());
        langchain::find(reader, &child, speaker, seen);
    }
}
