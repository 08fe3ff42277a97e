//! Which of many filters match one header, at a cost that does not grow with filters that cannot.
//!
//! A filter that names something exactly (a task, a target, ...) is found by a hash of it. Below
//! that, or alone, a trie of type patterns narrows further. What a filter asks beyond that is
//! checked by its own definition, [`Filter::matches`].

mod trie;

#[cfg(test)]
mod tests;

use foldhash::fast::FixedState;
use protocol::filter::Field;
use protocol::{Filter, Header};
use std::collections::HashMap;
use trie::{Posting, Trie};

/// Fields that can find a filter by hash; the first that a filter names exactly does, so the most
/// telling come first.
const ANCHORS: [Field; 7] = [
    Field::Task,
    Field::Conversation,
    Field::Session,
    Field::Target,
    Field::Topic,
    Field::Intent,
    Field::Source,
];

/// The type pattern of a filter that does not name types.
const ANY_TYPE: &str = "*";

/// An index over filters, each under a number of its owner.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    filters: HashMap<u32, Filter, FixedState>,
    /// Per anchor: the exact value, then types.
    anchored: [HashMap<Box<str>, Trie>; ANCHORS.len()],
    /// Filters that name nothing exactly.
    rest: Trie,
    #[cfg(test)]
    considered: std::cell::Cell<usize>,
}

/// Where a filter is filed.
struct Filing<'f> {
    /// Position in [`ANCHORS`] with the values there; `None` for the rest.
    anchor: Option<(usize, &'f [Box<str>])>,
    types: Option<&'f [Box<str>]>,
    /// Whether anchor and type already say all the filter asks.
    is_whole: bool,
}

impl Matcher {
    pub(crate) fn insert(&mut self, id: u32, filter: Filter) {
        self.remove(id);
        if let Some(filing) = file(&filter) {
            let posting = Posting {
                id,
                is_whole: filing.is_whole,
            };
            self.each_trie(&filing, |trie, pattern| trie.insert(pattern, posting));
        }
        self.filters.insert(id, filter);
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Filter> {
        let filter = self.filters.remove(&id)?;
        if let Some(filing) = file(&filter) {
            self.each_trie(&filing, |trie, pattern| trie.remove(pattern, id));
            if let Some((at, values)) = filing.anchor
                && let Some(map) = self.anchored.get_mut(at)
            {
                for value in values {
                    if map.get(value).is_some_and(Trie::is_empty) {
                        map.remove(value);
                    }
                }
            }
        }
        Some(filter)
    }

    pub(crate) fn filter(&self, id: u32) -> Option<&Filter> {
        self.filters.get(&id)
    }

    /// The numbers of all filters that match, in ascending order.
    pub(crate) fn matching(&self, header: &Header) -> Vec<u32> {
        let mut found = Vec::new();
        if self.filters.is_empty() {
            return Vec::new();
        }
        for (field, map) in ANCHORS.into_iter().zip(&self.anchored) {
            if !map.is_empty() {
                each_text(field, header, |text| {
                    if let Some(trie) = map.get(text) {
                        trie.collect(&header.kind, &mut found);
                    }
                });
            }
        }
        self.rest.collect(&header.kind, &mut found);
        #[cfg(test)]
        self.considered.set(self.considered.get() + found.len());
        found.sort_unstable_by_key(|posting| posting.id);
        found.dedup_by_key(|posting| posting.id);
        found.retain(|posting| {
            posting.is_whole
                || self
                    .filters
                    .get(&posting.id)
                    .is_some_and(|filter| filter.matches(header))
        });
        found.into_iter().map(|posting| posting.id).collect()
    }

    fn each_trie(&mut self, filing: &Filing<'_>, mut act: impl FnMut(&mut Trie, &str)) {
        let mut each_type = |trie: &mut Trie| match filing.types {
            Some(patterns) => patterns.iter().for_each(|pattern| act(trie, pattern)),
            None => act(trie, ANY_TYPE),
        };
        match filing.anchor {
            None => each_type(&mut self.rest),
            Some((at, values)) => {
                let Some(map) = self.anchored.get_mut(at) else {
                    return;
                };
                for value in values {
                    each_type(map.entry(value.clone()).or_default());
                }
            }
        }
    }
}

/// Where a filter belongs; `None` for one that can match nothing.
fn file(filter: &Filter) -> Option<Filing<'_>> {
    if filter.terms().any(|(_, values)| values.is_empty()) {
        return None;
    }
    let anchor = ANCHORS.into_iter().enumerate().find_map(|(at, field)| {
        let values = filter.values(field)?;
        values
            .iter()
            .all(|value| field.is_exact(value))
            .then_some((at, field, values))
    });
    let anchor_field = anchor.map(|(_, field, _)| field);
    Some(Filing {
        anchor: anchor.map(|(at, _, values)| (at, values)),
        types: filter.values(Field::Type),
        is_whole: filter
            .terms()
            .all(|(field, _)| field == Field::Type || Some(field) == anchor_field),
    })
}

/// Every text that `header` holds in an anchor field.
fn each_text(field: Field, header: &Header, mut act: impl FnMut(&str)) {
    let mut maybe = |text: &Option<Box<str>>| text.as_deref().into_iter().for_each(&mut act);
    match field {
        Field::Task => maybe(&header.task),
        Field::Conversation => maybe(&header.conversation),
        Field::Session => maybe(&header.session),
        Field::Intent => maybe(&header.intent),
        Field::Target => header
            .recipients
            .iter()
            .for_each(|party| act(party.as_str())),
        Field::Topic => header.topics.iter().for_each(|topic| act(topic)),
        Field::Source => act(header.sender.as_str()),
        Field::Type => act(&header.kind),
        Field::Dialect => act(header.dialect.as_str()),
        Field::Priority => act(header.priority.as_str()),
    }
}
