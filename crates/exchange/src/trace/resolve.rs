//! Which message an id means. Ids belong to their sender, so several messages may bear one; a message
//! that names another as its cause names it by id alone.

use super::node::Node;

/// What an id turns out to mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// No message that is known.
    Nothing,
    /// This one.
    One(u32),
    /// Any of these.
    Several(Vec<u32>),
}

/// Which of the messages that bear an id is meant by `child`, which names it as its cause.
///
/// One of the same conversation is meant before one of another; then one that wrote to the child's
/// sender or that the child writes to; then one that is older. What is still several is not guessed.
pub(super) fn resolve<'n>(child: &Node, bearers: impl Iterator<Item = (u32, &'n Node)>) -> Meaning {
    let mut left: Vec<(u32, &Node)> = bearers
        .filter(|(_, bearer)| bearer.sequence != child.sequence)
        .collect();
    let same_conversation =
        |bearer: &Node| child.conversation.is_some() && bearer.conversation == child.conversation;
    let fits = |bearer: &Node| bearer.wrote_to(child.sender) || child.wrote_to(bearer.sender);
    let is_older = |bearer: &Node| bearer.sequence < child.sequence;
    let hints: [&dyn Fn(&Node) -> bool; 3] = [&same_conversation, &fits, &is_older];
    let mut is_hinted = false;
    for hint in hints {
        let fitting: Vec<_> = left
            .iter()
            .copied()
            .filter(|(_, bearer)| hint(bearer))
            .collect();
        if !fitting.is_empty() {
            is_hinted = true;
            left = fitting;
        }
    }
    match left.as_slice() {
        // Younger, of another conversation, between other parties: the id is the same by chance.
        _ if !is_hinted => Meaning::Nothing,
        [] => Meaning::Nothing,
        [(one, _)] => Meaning::One(*one),
        several => Meaning::Several(several.iter().map(|(at, _)| *at).collect()),
    }
}
