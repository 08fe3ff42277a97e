//! A shorter list of events that fails, too.

use super::event::{Event, events};
use super::world::{Failure, run_events};

/// The first events of a seed that fail, and of those only the ones that matter: halves, quarters and
/// so on are taken away as long as a promise is still broken.
pub fn shrink(seed: u64) -> Option<(Vec<Event>, Failure)> {
    let mut kept = events(seed);
    let mut failure = *run_events(seed, &kept).err()?;
    let mut fails = |some: &[Event]| match run_events(seed, some) {
        Ok(_) => false,
        Err(found) => {
            failure = *found;
            true
        }
    };
    let mut chunk = kept.len();
    while chunk > 0 {
        let mut end = kept.len();
        while end > 0 {
            let start = end.saturating_sub(chunk);
            let mut some = kept.clone();
            some.drain(start..end);
            if fails(&some) {
                kept = some;
            }
            end = start;
        }
        chunk /= 2;
    }
    Some((kept, failure))
}
