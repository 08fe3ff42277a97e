//! What the crates' tests share: disks that crash or wait, randomness that repeats, a simulation of
//! the whole exchange, and a checker of histories. Never published.

mod crash_disk;
mod held_disk;
pub mod history;
pub mod mutations;
mod random;
pub mod sim;

pub use crash_disk::{Cause, CrashDisk, Operation};
pub use held_disk::HeldDisk;
pub use random::Random;
