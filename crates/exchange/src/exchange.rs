//! The state of one space. What can be done with it is in one file per request.

use crate::claims::Claims;
use crate::dedupe::Dedupe;
use crate::delivery::Fences;
use crate::directory::Directory;
use crate::listen::Channels;
use crate::loop_guard::LoopGuard;
use crate::places::Places;
use crate::settings::Settings;
use crate::subscribe::Subscriptions;
use protocol::Tasks;
use protocol::dialect::aep::flow::{Flow, Stats};

/// The state of one space: inboxes, subscriptions, leases, what was seen before.
///
/// Everything but leases and channels is a fold over the records, so
/// [`apply`](Self::apply) rebuilds it.
pub struct Exchange {
    pub(crate) settings: Settings,
    pub(crate) dedupe: Dedupe,
    pub(crate) flow: Flow,
    pub(crate) tasks: Tasks,
    pub(crate) places: Places,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) channels: Channels,
    pub(crate) fences: Fences,
    pub(crate) loop_guard: LoopGuard,
    pub(crate) claims: Claims,
    pub(crate) directory: Directory,
    /// The last record that state was rebuilt from.
    pub(crate) recovered_to: u64,
}

/// How much of everything there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Parties that have an inbox.
    pub inboxes: usize,
    /// Durable subscriptions.
    pub subscriptions: usize,
    /// Live channels.
    pub channels: usize,
    /// Messages that a repeat is recognised against.
    pub dedupe_entries: usize,
    /// Deliveries that no reader holds, over all places.
    pub waiting: usize,
    /// Deliveries that a reader holds, over all places.
    pub leased: usize,
    /// Dead letters, over all places.
    pub dead: usize,
    /// Tasks in memory that have not ended.
    pub tasks_open: usize,
    /// Tasks in memory that have ended.
    pub tasks_finished: usize,
    /// Conflicts over claims that nobody has resolved.
    pub blockers_open: usize,
    /// Agents of the directory.
    pub agents: usize,
}

impl Exchange {
    /// An empty exchange.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            tasks: Tasks::bounded(settings.tasks),
            settings,
            dedupe: Dedupe::default(),
            flow: Flow::default(),
            places: Places::default(),
            subscriptions: Subscriptions::default(),
            channels: Channels::default(),
            fences: Fences::default(),
            loop_guard: LoopGuard::default(),
            claims: Claims::default(),
            directory: Directory::default(),
            recovered_to: 0,
        }
    }

    /// How much of everything there is. Costs the same however much that is.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            inboxes: self.places.inbox_count(),
            subscriptions: self.subscriptions.count(),
            channels: self.channels.count(),
            dedupe_entries: self.dedupe.count(),
            waiting: self.places.waiting(),
            leased: self.places.leased(),
            dead: self.places.dead(),
            tasks_open: self.tasks.open_count(),
            tasks_finished: self.tasks.finished_count(),
            blockers_open: self.claims.open_count(),
            agents: self.directory.count(),
        }
    }

    /// The counters of the AEP delivery tracker.
    #[must_use]
    pub fn aep_stats(&self) -> Stats {
        self.flow.stats()
    }
}
