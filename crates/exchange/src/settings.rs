//! The limits and times an exchange works with.

use crate::delivery_settings::DeliverySettings;
use crate::directory::DirectoryLimits;
use crate::loop_guard::LoopLimits;
use protocol::task::Limits as TaskLimits;

/// Limits and times, with their units in their names.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How places deliver that have no settings of their own.
    pub delivery: DeliverySettings,
    /// The shortest wait after a nack, so that a short outage does not burn every attempt.
    pub nack_delay_ms_min: i64,
    /// By how much at most a wait is longer than asked, in thousandths, so that what failed together
    /// does not come back together.
    pub nack_jitter_milli: u32,
    /// How far automatic turn-taking may go.
    pub loops: LoopLimits,
    /// Most inboxes and durable subscriptions together.
    pub places_max: usize,
    /// Most places that one message may go to.
    pub fan_out_max: usize,
    /// How many tasks stay in memory.
    pub tasks: TaskLimits,
    /// How far the directory goes.
    pub directory: DirectoryLimits,
}

impl Default for Settings {
    /// 100 ms and up to a tenth more after a nack, a million places, 10,000 per message.
    fn default() -> Self {
        Self {
            delivery: DeliverySettings::default(),
            nack_delay_ms_min: 100,
            nack_jitter_milli: 100,
            loops: LoopLimits::default(),
            places_max: 1_000_000,
            fan_out_max: 10_000,
            tasks: TaskLimits::default(),
            directory: DirectoryLimits::default(),
        }
    }
}
