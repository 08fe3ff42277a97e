//! A conversation as a tree: every message under the one that caused it.

use super::roles::Message;
use crate::output::{Colour, Paint, tame};
use std::collections::BTreeMap;

/// Lines of the tree, in journal order among siblings.
pub fn lines(messages: &[Message], paint: Paint) -> Vec<String> {
    let place: BTreeMap<&str, usize> = messages
        .iter()
        .enumerate()
        .map(|(at, one)| (&*one.header.id, at))
        .collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); messages.len()];
    let mut roots = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let cause = message
            .header
            .cause
            .as_deref()
            .and_then(|cause| place.get(cause))
            .copied();
        // Only an earlier message can be a cause; anything else would make a circle.
        match cause
            .filter(|cause| *cause < at)
            .and_then(|cause| children.get_mut(cause))
        {
            Some(siblings) => siblings.push(at),
            None => roots.push(at),
        }
    }
    let mut out = Vec::new();
    // Depth first with an own stack: a long chain of causes cannot exhaust ours.
    let mut stack: Vec<(usize, String, bool)> = Vec::new();
    push(&mut stack, &roots, "");
    while let Some((at, prefix, is_last)) = stack.pop() {
        let Some(message) = messages.get(at) else {
            continue;
        };
        let branch = if is_last { "└─ " } else { "├─ " };
        let bars = paint.paint(Colour::Dim, &format!("{prefix}{branch}"));
        out.push(format!("{bars}{}", describe(message, paint)));
        let deeper = format!("{prefix}{}", if is_last { "   " } else { "│  " });
        push(
            &mut stack,
            children.get(at).map_or(&[], Vec::as_slice),
            &deeper,
        );
    }
    out
}

/// Puts siblings on the stack so that the first comes off first.
fn push(stack: &mut Vec<(usize, String, bool)>, siblings: &[usize], prefix: &str) {
    for (from_end, at) in siblings.iter().rev().enumerate() {
        stack.push((*at, prefix.to_owned(), from_end == 0));
    }
}

fn describe(message: &Message, paint: Paint) -> String {
    let header = &message.header;
    let to: Vec<_> = header
        .recipients
        .iter()
        .map(protocol::Party::as_str)
        .collect();
    let to = if to.is_empty() {
        "everybody who subscribed".to_owned()
    } else {
        to.join(", ")
    };
    let intent = header
        .intent
        .as_deref()
        .map(|intent| format!(" {intent}"))
        .unwrap_or_default();
    let colour = match &*header.kind {
        "error" => Colour::Red,
        _ => Colour::Bold,
    };
    format!(
        "{}{}  {} {} {}",
        paint.paint(colour, &tame(&header.kind)),
        tame(&intent),
        paint.paint(Colour::Cyan, &tame(header.sender.as_str())),
        paint.paint(Colour::Dim, "→"),
        paint.paint(Colour::Cyan, &tame(&to)),
    )
}

/// `4 task, 2 stream`, the most frequent first.
pub fn counts(messages: &[Message]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for message in messages {
        *counts.entry(message.header.kind.to_string()).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
