//! What the exchange agreed with its peers in UAI-1 (UAI 9.6).
//!
//! Kept in memory only: after a restart a peer is at the baseline, which everybody understands, until it
//! negotiates again.

use crate::Handle;
use protocol::Party;
use protocol::dialect::uai::carriage::Carriage;
use protocol::dialect::uai::negotiate::Selected;

impl Handle {
    /// What is agreed with a peer. Nothing without a confirmed agreement of the last hour, and nothing once
    /// the peer's card in the directory has changed since.
    pub async fn uai_agreement(&self, peer: &Party) -> Option<Selected> {
        let (selected, since) = {
            let agreements = self.shared.agreements.lock();
            let (selected, since) = agreements.with(peer, self.now())?;
            (selected.clone(), since)
        };
        let card = self.agent(peer.clone()).await.ok()?;
        let has_changed = card.is_some_and(|card| card.changed_at > since);
        (!has_changed).then_some(selected)
    }

    /// How a message with several recipients is written for a peer: as agreed, else as copies.
    pub async fn uai_carriage(&self, peer: &Party) -> Carriage {
        let agreed = self.uai_agreement(peer).await;
        agreed.map_or(Carriage::Split, |selected| selected.carriage())
    }
}
