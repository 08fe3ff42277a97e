//! What the crates' tests share: disks that crash, and randomness that repeats. Never published.

mod crash_disk;
mod random;

pub use crash_disk::{Cause, CrashDisk, Operation};
pub use random::Random;
