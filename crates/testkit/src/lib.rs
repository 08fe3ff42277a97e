//! What the crates' tests share: disks that crash or wait, and randomness that repeats. Never published.

mod crash_disk;
mod held_disk;
mod random;

pub use crash_disk::{Cause, CrashDisk, Operation};
pub use held_disk::HeldDisk;
pub use random::Random;
