//! Reading the journal page by page.

use crate::find::{self, From};
use crate::gap::{Gap, GapReason, OnGap};
use crate::{Entry, Handle};
use journal::Cursor;
use protocol::{Filter, Rejection};
use std::sync::Arc;

/// One page of the journal.
#[derive(Debug)]
pub struct Page {
    /// The messages.
    pub entries: Vec<Arc<Entry>>,
    /// What is missing before them.
    pub gap: Option<Gap>,
    /// Where the next page begins.
    pub next: Cursor,
    /// Whether the page ends at the newest message.
    pub is_last: bool,
}

impl Handle {
    /// A page of messages that pass `filter`, at most `limit`, beginning at `from`.
    ///
    /// # Errors
    /// As [`Self::follow`].
    pub async fn page(&self, filter: Filter, from: From, limit: usize) -> Result<Page, Rejection> {
        self.page_over(filter, from, limit, OnGap::Fail).await
    }

    /// As [`Self::page`]; where the beginning is no longer kept, `on_gap` decides whether the page
    /// says so and begins behind it.
    ///
    /// # Errors
    /// As [`Self::follow`].
    pub async fn page_over(
        &self,
        filter: Filter,
        from: From,
        limit: usize,
        on_gap: OnGap,
    ) -> Result<Page, Rejection> {
        let shared = &self.shared;
        let is_earliest = from == From::Earliest;
        let mut position = self.position(&from, on_gap).await?;
        let (_, last) = shared.reader.range();
        let (mut entries, mut gap) = (Vec::new(), None);
        while entries.len() < limit && position < last {
            let (reader, filter) = (shared.reader.clone(), filter.clone());
            let (from, rest) = (position + 1, limit - entries.len());
            let scan = move || find::scan(&reader, &filter, from, last, rest, usize::MAX);
            let scanned = find::in_turn(shared, &self.lane, scan).await?;
            let has_moved = scanned.position > position;
            position = scanned.position;
            entries.extend(scanned.entries);
            let Some(hole) = scanned.hole else {
                if has_moved {
                    continue;
                }
                break;
            };
            let is_before_all = entries.is_empty() && gap.is_none();
            if is_earliest && is_before_all && hole.reason == GapReason::Retention {
                // The earliest that is kept has moved on since it was asked for.
                position = hole.to;
                continue;
            }
            let found = Gap {
                from: shared.reader.cursor(position + 1),
                to: shared.reader.cursor(hole.to),
                count: hole.to - position,
                is_exact: false,
                reason: hole.reason,
            };
            if on_gap == OnGap::Fail && entries.is_empty() {
                return Err(shared.overtaken(&found));
            }
            if !entries.is_empty() || gap.is_some() {
                // The next page begins with it, and says so.
                break;
            }
            shared.meter.count_gap(found.reason);
            gap = Some(found);
            position = hole.to;
        }
        Ok(Page {
            gap,
            next: shared.reader.cursor(position),
            is_last: position >= last,
            entries,
        })
    }
}
