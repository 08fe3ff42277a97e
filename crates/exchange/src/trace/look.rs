//! What a name stands for: the beginning of a trace.

use super::node::{Node, Offered};
use super::query::{By, Candidate, Query};
use super::texts::{TextId, Texts};

/// Most meanings of a name that are told apart.
const HITS_MAX: usize = 64;

/// One meaning of the name.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) by: By,
    pub(super) home: Home,
    pub(super) sequence: u64,
    pub(super) sender: TextId,
}

/// What is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// All messages whose conversation, task or correlation is this text.
    All(By, TextId),
    /// One message that belongs to no conversation, and what is linked to it.
    Alone(u64),
}

/// The meanings of a name, as they are found.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) hits: Vec<Hit>,
    /// Messages that a trace may begin with alone.
    pub(super) alone: Vec<Node>,
}

impl Hits {
    /// Notes what the name is to this message, if anything.
    pub(super) fn note(&mut self, query: &Query, message: &Offered<'_>, texts: &mut Texts) {
        let header = message.header;
        let is_it = |text: &Option<Box<str>>| text.as_deref() == Some(&*query.text);
        let is_message = *header.id == *query.text
            && query
                .sender
                .as_ref()
                .is_none_or(|sender| header.sender == *sender);
        let meanings = [
            (By::Conversation, is_it(&header.conversation)),
            (By::Message, is_message),
            (By::Task, is_it(&header.task)),
            (By::Correlation, is_it(&header.correlation)),
        ];
        let wanted = |by: By| query.by.is_none_or(|wanted| wanted == by);
        for (by, _) in meanings.into_iter().filter(|(by, is)| *is && wanted(*by)) {
            let home = match (&header.conversation, by) {
                (Some(conversation), _) => Home::All(By::Conversation, texts.keep(conversation)),
                (None, By::Message | By::Conversation) => Home::Alone(message.sequence),
                (None, By::Task | By::Correlation) => Home::All(by, texts.keep(&query.text)),
            };
            if self.hits.iter().any(|hit| hit.home == home) || self.hits.len() == HITS_MAX {
                continue;
            }
            if home == Home::Alone(message.sequence) {
                self.alone.push(Node::new(message, texts));
            }
            self.hits.push(Hit {
                by,
                home,
                sequence: message.sequence,
                sender: texts.keep(header.sender.as_str()),
            });
        }
    }

    /// What the trace begins with; a name that stands for a conversation means that first.
    pub(super) fn home(&self, query: &Query, texts: &mut Texts) -> Option<Home> {
        let first = self.hits.iter().min_by_key(|hit| (hit.by, hit.sequence))?;
        let is_only = self.hits.iter().all(|hit| hit.home == first.home);
        match query.by {
            // Asked for by name: then all of it, whatever conversations it is in.
            Some(by @ (By::Task | By::Correlation)) if !is_only => {
                Some(Home::All(by, texts.keep(&query.text)))
            }
            _ => Some(first.home),
        }
    }

    /// The meanings, for whoever must choose.
    pub(super) fn candidates(&self, texts: &Texts) -> Vec<Candidate> {
        let candidate = |hit: &Hit| Candidate {
            by: hit.by,
            conversation: match hit.home {
                Home::All(By::Conversation, text) => Some(texts.share(text)),
                Home::All(_, _) | Home::Alone(_) => None,
            },
            sender: texts.share(hit.sender),
            sequence: hit.sequence,
        };
        self.hits.iter().map(candidate).collect()
    }
}
