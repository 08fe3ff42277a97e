//! Waking a host: something came, and nobody had to ask.

use super::resources::Name;
use super::{Exchange, Refusal};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::mpsc;

/// Everything that makes one resource change, watched.
#[derive(Debug)]
pub(super) struct Watched {
    feeds: Vec<mpsc::Receiver<()>>,
}

impl Watched {
    /// Begins to watch; what comes after this returned is noticed.
    pub(super) async fn begin(name: &Name, exchange: &impl Exchange) -> Result<Self, Refusal> {
        let mut feeds = Vec::new();
        for filter in name.filters(exchange).await? {
            feeds.push(exchange.watch(filter).await?);
        }
        Ok(Self { feeds })
    }

    /// Returns when something came; `None` when nothing more can come.
    pub(super) async fn next(&mut self) -> Option<()> {
        let mut waits: FuturesUnordered<_> =
            self.feeds.iter_mut().map(mpsc::Receiver::recv).collect();
        while let Some(told) = waits.next().await {
            if told.is_some() {
                return told;
            }
        }
        None
    }
}
