//! Type patterns by segment.
//!
//! Walking one type visits only nodes on patterns that fit it so far. Patterns are at most 255 bytes
//! long, which bounds the depth of the recursion.

use std::collections::HashMap;

/// One filter at the end of one of its patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) id: u32,
    /// Whether being found here is proof enough.
    pub(super) is_whole: bool,
}

#[derive(Debug, Default)]
pub(super) struct Trie {
    /// Patterns that end here.
    closed: Vec<Posting>,
    /// Patterns that go on with one or more segments, whatever they are.
    open: Vec<Posting>,
    star: Option<Box<Trie>>,
    children: HashMap<Box<str>, Trie>,
}

impl Trie {
    pub(super) fn insert(&mut self, pattern: &str, posting: Posting) {
        let (segments, is_open) = split(pattern);
        let mut node = self;
        for segment in segments {
            node = if segment == "*" {
                node.star.get_or_insert_default()
            } else {
                node.children.entry(segment.into()).or_default()
            };
        }
        node.postings(is_open).push(posting);
    }

    pub(super) fn remove(&mut self, pattern: &str, id: u32) {
        let (segments, is_open) = split(pattern);
        let segments: Vec<&str> = segments.collect();
        self.remove_below(&segments, is_open, id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.closed.is_empty()
            && self.open.is_empty()
            && self.star.is_none()
            && self.children.is_empty()
    }

    /// Adds every posting whose pattern fits `kind`; one may come more than once.
    pub(super) fn collect(&self, kind: &str, found: &mut Vec<Posting>) {
        self.collect_below(Some(kind), found);
    }

    fn collect_below(&self, rest: Option<&str>, found: &mut Vec<Posting>) {
        let Some(rest) = rest else {
            found.extend_from_slice(&self.closed);
            return;
        };
        found.extend_from_slice(&self.open);
        if self.star.is_none() && self.children.is_empty() {
            return;
        }
        let (segment, rest) = match rest.split_once('.') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (rest, None),
        };
        if let Some(star) = &self.star {
            star.collect_below(rest, found);
        }
        if let Some(child) = self.children.get(segment) {
            child.collect_below(rest, found);
        }
    }

    fn remove_below(&mut self, segments: &[&str], is_open: bool, id: u32) {
        let Some((segment, segments)) = segments.split_first() else {
            let postings = self.postings(is_open);
            if let Some(at) = postings.iter().position(|posting| posting.id == id) {
                postings.swap_remove(at);
            }
            return;
        };
        if *segment == "*" {
            if let Some(star) = &mut self.star {
                star.remove_below(segments, is_open, id);
                if star.is_empty() {
                    self.star = None;
                }
            }
        } else if let Some(child) = self.children.get_mut(*segment) {
            child.remove_below(segments, is_open, id);
            if child.is_empty() {
                self.children.remove(*segment);
            }
        }
    }

    fn postings(&mut self, is_open: bool) -> &mut Vec<Posting> {
        if is_open {
            &mut self.open
        } else {
            &mut self.closed
        }
    }
}

/// The segments before a trailing `*`, and whether there is one.
fn split(pattern: &str) -> (impl Iterator<Item = &str>, bool) {
    let (head, is_open) = match pattern.strip_suffix(".*") {
        Some(head) => (Some(head), true),
        None if pattern == "*" => (None, true),
        None => (Some(pattern), false),
    };
    (head.into_iter().flat_map(|head| head.split('.')), is_open)
}
