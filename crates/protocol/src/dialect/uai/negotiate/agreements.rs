//! What was agreed with whom, until when.

use std::collections::BTreeMap;

use super::Selected;
use crate::{Party, Timestamp};

/// How long an agreement holds, in milliseconds (UAI 9.6 K3).
pub const AGREEMENT_MS: i64 = 3_600_000;

/// Most peers that are remembered.
const PEERS_MAX: usize = 16_384;

/// One peer's agreement, or the answer that it has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Agreement {
    negotiation: Box<str>,
    selected: Selected,
    /// When it was answered or confirmed.
    since: Timestamp,
    is_confirmed: bool,
}

/// The agreements of one side with its peers. Bounded: the oldest leaves first, and its peer is at the
/// baseline again. Not kept over a restart, where the baseline is what everybody understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreements {
    peers: BTreeMap<Party, Agreement>,
}

impl Agreements {
    /// Remembers what was answered to a peer's offer; it counts from the peer's confirmation on. Whatever
    /// was agreed before ends with the new offer, also with one that is refused: it fails closed.
    pub fn answered(
        &mut self,
        peer: &Party,
        negotiation: &str,
        selected: Option<&Selected>,
        now: Timestamp,
    ) {
        self.peers.remove(peer);
        let Some(selected) = selected else { return };
        let agreement = Agreement {
            negotiation: negotiation.into(),
            selected: selected.clone(),
            since: now,
            is_confirmed: false,
        };
        self.peers.insert(peer.clone(), agreement);
        if self.peers.len() > PEERS_MAX {
            let oldest = self.peers.iter().min_by_key(|(_, one)| one.since);
            if let Some(oldest) = oldest.map(|(peer, _)| peer.clone()) {
                self.peers.remove(&oldest);
            }
        }
    }

    /// The peer confirms; whether there was such an answer, not older than an agreement lasts.
    pub fn confirmed(&mut self, peer: &Party, negotiation: &str, now: Timestamp) -> bool {
        let agreement = self.peers.get_mut(peer);
        let agreement = agreement.filter(|one| *one.negotiation == *negotiation);
        let Some(agreement) = agreement.filter(|one| one.holds(now)) else {
            return false;
        };
        // A confirmation that is repeated makes nothing last longer.
        if !agreement.is_confirmed {
            agreement.is_confirmed = true;
            agreement.since = now;
        }
        true
    }

    /// Forgets what was agreed with a peer.
    pub fn ended(&mut self, peer: &Party) {
        self.peers.remove(peer);
    }

    /// What is agreed with a peer, and since when; nothing without a confirmed agreement that holds.
    #[must_use]
    pub fn with(&self, peer: &Party, now: Timestamp) -> Option<(&Selected, Timestamp)> {
        let agreement = self.peers.get(peer)?;
        (agreement.is_confirmed && agreement.holds(now))
            .then_some((&agreement.selected, agreement.since))
    }

    /// Peers that are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether nobody is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }
}

impl Agreement {
    fn holds(&self, now: Timestamp) -> bool {
        now < self.since.plus_millis(AGREEMENT_MS)
    }
}
