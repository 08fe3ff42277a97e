//! Tasks as JSON.

use broker::Handle;
use protocol::json::push_string;
use protocol::task::{History, TaskView};
use std::fmt::Write as _;

/// `{"tasks":[...],"more":bool}`.
pub(crate) fn list(handle: &Handle, tasks: &[TaskView], has_more: bool) -> String {
    let mut out = String::from("{\"tasks\":[");
    for (at, view) in tasks.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push('{');
        write_view(&mut out, handle, view);
        out.push('}');
    }
    let _ = write!(out, "],\"more\":{has_more}}}");
    out
}

/// A task and its past.
pub(crate) fn history(handle: &Handle, history: &History) -> String {
    let mut out = String::from("{");
    write_view(&mut out, handle, &history.view);
    out.push_str(",\"history\":[");
    for (at, line) in history.lines.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let state = line.state.as_str();
        let _ = write!(
            out,
            "{{\"state\":\"{state}\",\"at\":\"{}\",\"by\":",
            line.at
        );
        push_string(&mut out, line.by.as_str());
        out.push_str(",\"id\":");
        push_string(&mut out, &line.id);
        let cursor = handle.cursor_at(line.sequence);
        let _ = write!(out, ",\"cursor\":\"{cursor}\"}}");
    }
    out.push_str("]}");
    out
}

fn write_view(out: &mut String, handle: &Handle, view: &TaskView) {
    let TaskView {
        id,
        state,
        dialect,
        requester,
        parts: _,
        request,
        opened,
        opened_at,
        conversation,
        deadline,
        parent,
        children,
        cancel_requested,
        last,
        last_at,
        ended,
    } = view;
    out.push_str("\"task\":");
    push_string(out, id);
    let (state, dialect) = (state.as_str(), dialect.as_str());
    let _ = write!(
        out,
        ",\"state\":\"{state}\",\"dialect\":\"{dialect}\",\"requester\":"
    );
    push_string(out, requester.as_str());
    out.push_str(",\"workers\":");
    write_workers(out, view);
    out.push_str(",\"request\":{\"id\":");
    push_string(out, request);
    let cursor = handle.cursor_at(*opened);
    let _ = write!(out, ",\"cursor\":\"{cursor}\"}},\"conversation\":");
    push_optional(out, conversation.as_deref());
    let _ = write!(out, ",\"opened_at\":\"{opened_at}\",\"deadline\":");
    let deadline = deadline.map(|moment| moment.to_string());
    push_optional(out, deadline.as_deref());
    out.push_str(",\"parent\":");
    push_optional(out, parent.as_deref());
    out.push_str(",\"children\":[");
    for (at, child) in children.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(out, child);
    }
    let cursor = handle.cursor_at(*last);
    let _ = write!(
        out,
        "],\"cancel_requested\":{cancel_requested},\"last\":{{\"cursor\":\"{cursor}\",\"at\":\"{last_at}\"}},\"ended\":"
    );
    let ended = ended.map(|sequence| handle.cursor_at(sequence).to_string());
    push_optional(out, ended.as_deref());
}

/// A list with one object for each who works on it.
pub(crate) fn write_workers(out: &mut String, view: &TaskView) {
    out.push('[');
    for (at, part) in view.parts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str("{\"party\":");
        push_optional(out, part.party.as_ref().map(protocol::Party::as_str));
        let _ = write!(out, ",\"state\":\"{}\"}}", part.state.as_str());
    }
    out.push(']');
}

fn push_optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => push_string(out, text),
        None => out.push_str("null"),
    }
}
