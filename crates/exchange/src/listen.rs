//! Live channels: readers that follow the journal now and are not remembered.
//!
//! Readers with equal filters share a channel, so a thousand of them cost one match per message.

use crate::exchange::Exchange;
use crate::matcher::Matcher;
use foldhash::fast::FixedState;
use protocol::{Filter, Header};
use std::collections::HashMap;

/// A live, not durable, set of readers with one filter. A number is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

#[derive(Debug, Default)]
pub(crate) struct Channels {
    by_filter: HashMap<Filter, ChannelId>,
    readers: HashMap<ChannelId, usize, FixedState>,
    matcher: Matcher,
    next: u32,
}

impl Channels {
    pub(crate) fn count(&self) -> usize {
        self.readers.len()
    }

    pub(crate) fn matching(&self, header: &Header) -> Vec<ChannelId> {
        self.matcher
            .matching(header)
            .into_iter()
            .map(ChannelId)
            .collect()
    }
}

impl Exchange {
    /// Adds a reader to the channel of its filter. Undone by one [`unlisten`](Self::unlisten).
    pub fn listen(&mut self, filter: Filter) -> ChannelId {
        let channels = &mut self.channels;
        let id = match channels.by_filter.get(&filter) {
            Some(id) => *id,
            None => {
                let id = ChannelId(channels.next);
                channels.next = channels.next.wrapping_add(1);
                channels.matcher.insert(id.0, filter.clone());
                channels.by_filter.insert(filter, id);
                id
            }
        };
        *channels.readers.entry(id).or_default() += 1;
        id
    }

    /// Takes a reader away; the last one ends the channel. Nothing happens for an ended channel.
    pub fn unlisten(&mut self, id: ChannelId) {
        let channels = &mut self.channels;
        let Some(readers) = channels.readers.get_mut(&id) else {
            return;
        };
        *readers -= 1;
        if *readers == 0 {
            channels.readers.remove(&id);
            if let Some(filter) = channels.matcher.remove(id.0) {
                channels.by_filter.remove(&filter);
            }
        }
    }
}
