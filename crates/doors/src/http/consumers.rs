//! Consumers: whose name a pull carries, and which sockets read under which name.

use super::problem::bad_request;
use super::query::Query;
use broker::PlaceName;
use parking_lot::Mutex;
use protocol::Rejection;
use std::collections::HashMap;
use std::sync::Arc;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// A consumer's name, when it is one.
pub(crate) fn parse(text: &str) -> Option<Arc<str>> {
    let is_good = (1..=NAME_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:/@+-".contains(&byte));
    is_good.then(|| text.into())
}

/// What is wrong with a name.
pub(crate) fn expected(text: &str) -> String {
    let text: String = text.chars().take(NAME_BYTES_MAX).collect();
    format!(
        "expected `consumer` to be 1 to {NAME_BYTES_MAX} letters, digits, `.`, `_`, `:`, `/`, `@`, \
         `+` or `-`, got {text:?}"
    )
}

/// The `consumer` of a query.
pub(crate) fn from_query(query: &mut Query) -> Result<Option<Arc<str>>, Rejection> {
    let Some(text) = query.take("consumer")? else {
        return Ok(None);
    };
    match parse(&text) {
        Some(name) => Ok(Some(name)),
        None => Err(bad_request("/consumer", expected(&text))),
    }
}

/// The sockets that read a place under a name. A client that lost its connection may come back under
/// its name before the old socket is known to be gone; what the new one holds must not go with it.
#[derive(Default)]
pub(crate) struct Consumers {
    sockets: Mutex<HashMap<(PlaceName, Arc<str>), usize>>,
}

impl Consumers {
    /// A socket begins to read.
    pub(crate) fn join(&self, place: &PlaceName, name: &Arc<str>) {
        let key = (place.clone(), Arc::clone(name));
        *self.sockets.lock().entry(key).or_default() += 1;
    }

    /// A socket reads no more; true when it was the last one.
    pub(crate) fn part(&self, place: &PlaceName, name: &Arc<str>) -> bool {
        let key = (place.clone(), Arc::clone(name));
        let mut sockets = self.sockets.lock();
        let Some(count) = sockets.get_mut(&key) else {
            return false;
        };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            sockets.remove(&key);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::{Consumers, parse};
    use broker::PlaceName;

    #[test]
    fn names_are_short_and_plain() {
        for good in ["w1", "host:4711/worker@2", &"n".repeat(128)] {
            assert!(parse(good).is_some(), "{good}");
        }
        for bad in ["", "a b", "\u{e9}", "a\n", &"n".repeat(129)] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn only_the_last_socket_takes_the_consumer_away() {
        let consumers = Consumers::default();
        let (place, other) = (
            PlaceName::Subscription("s".into()),
            PlaceName::Subscription("t".into()),
        );
        let name = parse("w").unwrap();
        consumers.join(&place, &name);
        consumers.join(&place, &name);
        consumers.join(&other, &name);
        assert!(!consumers.part(&place, &name));
        assert!(consumers.part(&other, &name));
        assert!(consumers.part(&place, &name));
        assert!(!consumers.part(&place, &name), "nobody is left");
    }
}
