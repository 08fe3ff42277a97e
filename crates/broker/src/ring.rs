//! The hot ring: the newest durable messages, so that live readers do not touch the file.

use crate::Entry;
use crate::entry::FrameBytes;
use parking_lot::RwLock;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A window over the end of the journal, by sequence. Records that are not messages leave a hole.
#[derive(Debug)]
pub(crate) struct Ring {
    inside: RwLock<Inside>,
    bytes_max: usize,
    /// What doors built for the entries and keep with them.
    frame_bytes: FrameBytes,
}

#[derive(Debug, Default)]
struct Inside {
    first: u64,
    slots: VecDeque<Option<Arc<Entry>>>,
    bytes: usize,
}

impl Inside {
    /// What was in the first slot is no longer here.
    fn release(&mut self, slot: Option<Arc<Entry>>) {
        self.first += 1;
        if let Some(entry) = slot {
            self.bytes -= entry.bytes();
            entry.leave();
        }
    }
}

impl Ring {
    /// A ring that begins with sequence `first`.
    pub(crate) fn new(first: u64, bytes_max: usize) -> Self {
        Self {
            inside: RwLock::new(Inside {
                first,
                ..Inside::default()
            }),
            bytes_max,
            frame_bytes: FrameBytes::default(),
        }
    }

    /// Adds the next sequences, in order.
    pub(crate) fn extend(&self, entries: impl Iterator<Item = Option<Arc<Entry>>>) {
        let mut inside = self.inside.write();
        for entry in entries {
            if let Some(entry) = &entry {
                inside.bytes += entry.bytes();
                entry.join(&self.frame_bytes);
            }
            inside.slots.push_back(entry);
        }
        while inside.bytes.saturating_add(self.frame_bytes()) > self.bytes_max {
            let Some(slot) = inside.slots.pop_front() else {
                break;
            };
            inside.release(slot);
        }
    }

    fn frame_bytes(&self) -> usize {
        usize::try_from(self.frame_bytes.load(Ordering::Acquire)).unwrap_or(0)
    }

    /// Lets go of messages before `first`, which are no longer kept.
    pub(crate) fn forget_before(&self, first: u64) {
        let mut inside = self.inside.write();
        while inside.first < first {
            let Some(slot) = inside.slots.pop_front() else {
                break;
            };
            inside.release(slot);
        }
    }

    /// The entries of `sequences` as far as the ring holds them, about `bytes_max` bytes but at least
    /// one; stops at the first it does not hold.
    pub(crate) fn get(&self, sequences: &[u64], bytes_max: usize, into: &mut Vec<Arc<Entry>>) {
        let inside = self.inside.read();
        let mut bytes = 0;
        for sequence in sequences {
            let slot = sequence
                .checked_sub(inside.first)
                .and_then(|offset| inside.slots.get(usize::try_from(offset).ok()?))
                .cloned();
            match slot {
                Some(Some(entry)) => {
                    bytes += entry.envelope.len();
                    into.push(entry);
                    if bytes >= bytes_max {
                        return;
                    }
                }
                // A hole is not a message; nobody asks for it, but it must not stop the rest.
                Some(None) => {}
                None => return,
            }
        }
    }

    /// Every message after `sequence`, when the ring reaches back that far.
    pub(crate) fn after(&self, sequence: u64, max: usize) -> Option<Vec<Arc<Entry>>> {
        let inside = self.inside.read();
        let skip = (sequence + 1).checked_sub(inside.first)?;
        let skip = usize::try_from(skip).ok()?;
        Some(
            inside
                .slots
                .iter()
                .skip(skip)
                .flatten()
                .take(max)
                .cloned()
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use crate::Entry;
    use bytes::Bytes;
    use protocol::{DialectName, Rules, Timestamp};
    use std::sync::Arc;

    /// An entry that weighs 4,096 bytes without frames.
    fn entry(sequence: u64) -> Arc<Entry> {
        let text = format!(
            r#"{{"v":"1","id":"message-{sequence}","ts":"2026-11-30T16:00:00Z","type":"event","from":"agent.a","to":"agent.b","intent":"test.thing","corr":"conv-0001","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{{}},"sig":null}}"#
        );
        let rules = Rules::at(Timestamp::default());
        let (header, _) = protocol::decode(text.as_bytes(), &rules)
            .into_result()
            .unwrap();
        let mut envelope = text.into_bytes();
        envelope.resize(4_096 - 512, b' ');
        let at = Timestamp::default();
        Arc::new(Entry::new(
            sequence,
            at,
            Arc::new(header),
            envelope.into(),
            Vec::new(),
            Vec::new(),
        ))
    }

    fn held(ring: &Ring) -> Vec<u64> {
        let all = ring.after(0, usize::MAX).unwrap_or_default();
        let inside = ring.inside.read();
        assert!(all.len() <= inside.slots.len());
        let slots = inside.slots.iter().flatten();
        slots.map(|entry| entry.sequence).collect()
    }

    #[test]
    fn frames_that_are_kept_count_and_are_forgotten_with_their_entry() {
        let ring = Ring::new(1, 4 * 4_096);
        let entries: Vec<_> = (1..=6).map(entry).collect();
        ring.extend(entries[..4].iter().cloned().map(Some));
        assert_eq!(held(&ring), [1, 2, 3, 4]);
        let frame = |entry: &Entry| Bytes::from(vec![b'x'; entry.envelope.len() + 512]);
        entries[1].event_frame(frame);
        entries[3].socket_frame("s", frame);
        entries[3].socket_frame("t", frame);
        assert_eq!(ring.frame_bytes(), 2 * 4_096, "one of each is kept");
        ring.extend([Some(Arc::clone(&entries[4]))].into_iter());
        // Seven entries' worth: the first and the second, with its frame, have to go.
        assert_eq!(held(&ring), [3, 4, 5]);
        assert_eq!(ring.frame_bytes(), 4_096);
        entries[0].event_frame(frame);
        assert_eq!(ring.frame_bytes(), 4_096, "it is not in the ring any more");
        ring.extend([Some(Arc::clone(&entries[5]))].into_iter());
        assert_eq!(held(&ring), [4, 5, 6]);
    }

    #[test]
    fn a_message_is_rendered_once_for_each_dialect_within_the_memory_of_the_ring() {
        let ring = Ring::new(1, 4 * 4_096);
        let one = entry(1);
        ring.extend([Some(Arc::clone(&one))].into_iter());
        let rendered = |wanted| one.shown_in(wanted).envelope.as_ptr();
        let (first, before) = (rendered(Some(DialectName::Aep)), ring.frame_bytes());
        assert!(before > 0);
        assert_eq!(rendered(Some(DialectName::Aep)), first);
        assert_eq!(ring.frame_bytes(), before, "it is made and counted once");
        rendered(Some(DialectName::Uai));
        assert!(ring.frame_bytes() > before);
        let own = one.envelope.as_ptr();
        assert_eq!(rendered(None), own);
        assert_eq!(rendered(Some(DialectName::Aee)), own, "its own bytes");
    }
}
