//! A session whose connection was lost, as it is kept for its return.

use super::subscription::Subscription;
use crate::digest;

/// What a session needs to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// Its id.
    pub session: Box<str>,
    /// Who opened it; nobody else resumes it.
    pub source: Box<str>,
    /// Its subscriptions, with where they stand.
    pub subscriptions: Vec<Subscription>,
    /// The number of the last subscription id that was given out.
    pub(super) numbered: u32,
}

impl Parked {
    /// A session of which only durable subscriptions are left, because its exchange was restarted.
    #[must_use]
    pub fn recalled(source: &str, session: &str, subscriptions: Vec<Subscription>) -> Self {
        let numbers = subscriptions
            .iter()
            .filter_map(|one| one.id.strip_prefix("sub_"));
        let numbered = numbers.filter_map(|text| text.parse().ok()).max();
        Self {
            session: session.into(),
            source: source.into(),
            subscriptions,
            numbered: numbered.unwrap_or(0),
        }
    }

    /// Under which text it is found again.
    #[must_use]
    pub fn key(&self) -> String {
        key(&self.source, &self.session)
    }
}

/// Under which text the session of that source is found: short and plain, whatever peers write.
#[must_use]
pub fn key(source: &str, session: &str) -> String {
    let text = format!("{}\n{source}\n{session}", source.len());
    let hash = digest(text.as_bytes()).to_hex();
    hash.get(..32).unwrap_or_default().to_owned()
}
