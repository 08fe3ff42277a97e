//! How messages are linked to a trace: by what they say of themselves, and as cause or effect.

use super::super::node::{Node, Offered};
use super::super::query::By;
use super::super::resolve::{Meaning, resolve};
use super::super::texts::TextId;
use super::{ASKED_ID, CONVERSATION, Gather, ID, KNOWN_ID, Link, RELATED_MAX, SHARED, Stage};
use protocol::Header;

impl Gather {
    /// How a message is linked to the trace by what it says of itself.
    pub(super) fn link(&self, message: &Offered<'_>) -> Option<Link> {
        let header = message.header;
        let find = |text: &Option<Box<str>>| self.texts.find(text.as_deref()?);
        if let Some((by, seed)) = self.seed {
            let named = match by {
                By::Conversation => find(&header.conversation),
                By::Task => find(&header.task),
                By::Correlation => find(&header.correlation),
                By::Message => None,
            };
            if named == Some(seed) {
                return Some(Link::Seed);
            }
        }
        let has = |text: Option<TextId>, role| text.is_some_and(|text| self.role(text) & role != 0);
        let (correlation, task) = (find(&header.correlation), find(&header.task));
        // The message after which the conversation is named comes before all others of it.
        let is_namesake =
            message.sequence < self.first_seed && has(self.texts.find(&header.id), CONVERSATION);
        let is_linked = is_namesake
            || has(correlation, CONVERSATION)
            || has(find(&header.conversation), ID)
            || header.conversation.is_none()
                && (has(correlation, SHARED | ID) || has(task, SHARED | ID));
        is_linked.then_some(Link::Linked)
    }

    /// A message that is not linked by itself may still be a cause or an effect.
    pub(super) fn consider(&mut self, message: &Offered<'_>) {
        let header = message.header;
        let role = |text: Option<&str>| {
            let text = text.and_then(|text| self.texts.find(text));
            text.map_or(0, |text| self.role(text))
        };
        let is_bearer = role(Some(&header.id)) & ASKED_ID != 0;
        let is_effect =
            message.sequence > self.query.after && role(header.cause.as_deref()) & ID != 0;
        if !is_bearer && !is_effect {
            self.relate(header);
            return;
        }
        if self.others_left == 0 {
            self.is_cut = true;
            return;
        }
        self.others_left -= 1;
        let at = self.keep(message);
        let Some((id, cause)) = self.node(at).map(|node| (node.id, node.cause)) else {
            return;
        };
        if let Some(cause) = cause.filter(|_| is_effect) {
            self.wait_for(cause, at);
            self.unclear.push_back((cause, Some(at)));
        }
        if is_bearer {
            self.unclear.push_back((id, None));
        }
    }

    /// Another conversation that shares a task or a correlation.
    fn relate(&mut self, header: &Header) {
        let Some(conversation) = &header.conversation else {
            return;
        };
        let shared = [&header.task, &header.correlation]
            .into_iter()
            .filter_map(|text| self.texts.find(text.as_deref()?))
            .find(|text| self.role(*text) & SHARED != 0);
        if let Some(shared) = shared
            && self.related.len() < RELATED_MAX
        {
            let conversation = self.texts.keep(conversation);
            if !self.related.iter().any(|(known, _)| *known == conversation) {
                self.related.push((conversation, shared));
            }
        }
    }

    /// Whether everybody who waits for this id has found it in their own conversation.
    pub(super) fn is_clear(&self, id: TextId) -> bool {
        if self.stage == Stage::Looking || self.role(id) & CONVERSATION != 0 {
            return false;
        }
        let waiting = self.waiting.range((id, 0)..=(id, u32::MAX));
        let mut children = waiting.filter_map(|(_, at)| self.node(*at));
        children.all(|child| {
            child.conversation.is_some()
                && self.bearers_of(id).any(|(_, bearer)| {
                    bearer.is_member && bearer.conversation == child.conversation
                })
        })
    }

    /// Takes in what has turned out to be a cause or an effect. A loop and not a recursion: a chain
    /// of causes may be as long as the trace.
    pub(super) fn clear_up(&mut self) {
        while let Some((id, child)) = self.unclear.pop_front() {
            if self.role(id) & KNOWN_ID == 0 {
                continue;
            }
            let children: Vec<u32> = match child {
                Some(child) => vec![child],
                None => {
                    let range = (id, 0)..=(id, u32::MAX);
                    self.waiting.range(range).map(|(_, at)| *at).collect()
                }
            };
            for child in children {
                self.clear_up_one(id, child);
            }
        }
    }

    fn clear_up_one(&mut self, id: TextId, child: u32) {
        let Some(node) = self.node(child) else {
            return;
        };
        let is_member = node.is_member;
        let Meaning::One(cause) = resolve(node, self.bearers_of(id)) else {
            return;
        };
        let new = match self.node(cause) {
            Some(cause) if cause.is_member == is_member => return,
            Some(_) if is_member => cause,
            Some(_) => child,
            None => return,
        };
        let is_of_this_page = |node: &Node| {
            // One of the conversation itself comes with its page or not at all.
            let own = node.conversation.map(|text| (By::Conversation, text));
            node.sequence > self.query.after && (own.is_none() || own != self.seed)
        };
        if self.node(new).is_some_and(is_of_this_page) {
            if self.linked_left == 0 {
                self.is_cut = true;
            } else {
                self.take(new, Link::Linked);
            }
        }
    }
}
