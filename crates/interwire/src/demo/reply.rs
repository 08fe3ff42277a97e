//! Ids and times of replies, derived from what they answer.

use super::roles::Role;
use protocol::id::UlidSource;
use protocol::{Timestamp, digest};

/// The id and time of one reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// A ULID.
    pub ulid: String,
    /// The moment written into the reply.
    pub at: Timestamp,
}

/// The mark of the reply `step` that `role` gives to the message `cause`, written at `cause_at`.
///
/// The same three always give the same mark, in every life of the process: the reply's time is the
/// request's time plus `offset_ms`, not the clock's.
pub fn mark(role: Role, step: &str, cause: &str, cause_at: Timestamp, offset_ms: i64) -> Mark {
    let at = cause_at.plus_millis(offset_ms);
    let digest = digest(format!("{}\n{step}\n{cause}", role.party()).as_bytes());
    let random = digest
        .0
        .iter()
        .take(10)
        .fold(0_u128, |bits, byte| (bits << 8) | u128::from(*byte));
    Mark {
        ulid: UlidSource::default().next(at, random).to_string(),
        at,
    }
}

#[cfg(test)]
mod tests {
    use super::mark;
    use crate::demo::roles::Role;
    use protocol::Timestamp;

    #[test]
    fn a_reply_is_the_same_in_every_life_and_differs_from_every_other() {
        let at = Timestamp::from_millis(1_772_274_600_000);
        let first = mark(Role::Scanner, "result", "m1", at, 5);
        assert_eq!(first, mark(Role::Scanner, "result", "m1", at, 5));
        assert_ne!(first, mark(Role::Router, "result", "m1", at, 5));
        assert_ne!(first, mark(Role::Scanner, "stream", "m1", at, 5));
        assert_ne!(first, mark(Role::Scanner, "result", "m2", at, 5));
    }
}
