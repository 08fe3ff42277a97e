//! The exchange without threads and without real time, for simulations.
//!
//! It is the same loop over the same journal; only who says "go on" differs. Calls on its
//! [`Handle`] wait until [`Stepped::step`] answers them. They use the timers of a tokio runtime, which
//! must be there but need not run: what waits for room or for a message then waits for ever.

use crate::checkpointer::Checkpointer;
use crate::handle::Reads;
use crate::open::{OpenError, Opened};
use crate::{Clock, Handle, Settings, indexer, keys};
use exchange::FrozenKeys;
use journal::{Disk, Filler, Index, Keys, Syncer};
use protocol::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// An exchange that moves when it is told to. Dropping it is a crash.
pub struct Stepped {
    handle: Handle,
    turn: crate::turn::Turn,
    index: Index,
    filler: Filler,
    syncer: Syncer,
    keys: Arc<Keys>,
    frozen: Receiver<Arc<FrozenKeys>>,
    unsealed: VecDeque<Arc<FrozenKeys>>,
    checkpointer: Checkpointer,
}

impl std::fmt::Debug for Stepped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stepped").finish_non_exhaustive()
    }
}

impl Stepped {
    /// Opens the journal on `disk` and rebuilds the state, as
    /// [`Broker::open_on`](crate::Broker::open_on) does.
    ///
    /// # Errors
    /// When the journal or a record cannot be read.
    pub fn open_on(
        disk: Arc<dyn Disk>,
        settings: Settings,
        clock: Clock,
        lineage: u64,
    ) -> Result<Self, OpenError> {
        let opened = Opened::on(disk, None, settings, clock, lineage, Reads::InPlace)?;
        Ok(Self {
            handle: opened.handle,
            filler: opened.turn.journal.filler(),
            syncer: opened.turn.journal.syncer(),
            checkpointer: Checkpointer {
                reader: opened.turn.reader.clone(),
                checkpoints: opened.checkpoints,
                keys: Arc::clone(&opened.keys),
                settings: opened.turn.settings.exchange.clone(),
                every_records: opened.turn.settings.checkpoint_every_records,
                every: Duration::MAX,
                meter: opened.turn.meter.clone(),
            },
            turn: opened.turn,
            index: opened.index,
            keys: opened.keys,
            frozen: opened.frozen,
            unsealed: VecDeque::new(),
        })
    }

    /// A handle, as doors have it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// One turn of the loop: takes what is queued, commits, speaks, and ends what is due.
    pub fn step(&mut self) {
        self.turn.step();
        self.unsealed.extend(self.frozen.try_iter());
        keys::seal_waiting(&self.keys, &self.syncer, &mut self.unsealed);
    }

    /// Writes down the state after the newest durable record, so that a start need not read what is
    /// before it.
    ///
    /// # Errors
    /// The disk's; the next start reads more then.
    pub fn checkpoint(&self) -> Result<(), OpenError> {
        self.checkpointer.write_now()
    }

    /// Whether nothing is left that [`Self::step`] would take.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.turn.requests.is_empty() && self.turn.turns.is_empty()
    }

    /// When the loop would wake without a request.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.turn.deadline()
    }

    /// One step of the writing ahead of the journal; returns whether there is more to do.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_ahead(&self) -> Result<bool, journal::Error> {
        self.filler.step()
    }

    /// With durability `os`: the sync beside the appends.
    ///
    /// # Errors
    /// The disk's; then nothing is written any more.
    pub fn sync(&self) -> Result<(), journal::Error> {
        self.syncer.sync()
    }

    /// Brings the look-up index up to the newest durable message.
    pub fn index(&mut self) {
        indexer::follow_all(&self.handle.shared, &mut self.index);
    }

    /// Commits what is queued and closes the journal, as after an orderly stop.
    pub fn close(mut self) {
        self.handle.drain();
        self.turn.step();
        self.turn.end();
    }
}
