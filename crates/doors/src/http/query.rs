//! Query strings, read strictly: a parameter that nobody reads is refused, not ignored.

use super::percent;
use super::problem::bad_request;
use protocol::{Filter, Rejection};
use std::ops::RangeInclusive;

/// The parameters of one request that were not taken yet.
#[derive(Debug)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    taken: Vec<&'static str>,
}

impl Query {
    /// Reads `name=value&...`.
    pub(crate) fn read(text: Option<&str>) -> Result<Self, Rejection> {
        let mut pairs = Vec::new();
        for part in text
            .unwrap_or_default()
            .split('&')
            .filter(|part| !part.is_empty())
        {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match (percent::decode(name, true), percent::decode(value, true)) {
                (Some(name), Some(value)) => pairs.push((name, value)),
                _ => {
                    return Err(bad_request(
                        "",
                        format!("expected percent-encoded UTF-8 in the query, got {part:?}"),
                    ));
                }
            }
        }
        Ok(Self {
            pairs,
            taken: Vec::new(),
        })
    }

    /// Takes a parameter that may come once.
    pub(crate) fn take(&mut self, name: &'static str) -> Result<Option<String>, Rejection> {
        self.taken.push(name);
        let mut found = None;
        let mut repeated = false;
        self.pairs.retain_mut(|(key, value)| {
            let is_it = key == name;
            if is_it {
                repeated |= found.replace(std::mem::take(value)).is_some();
            }
            !is_it
        });
        if repeated {
            return Err(bad_request(
                &format!("/{name}"),
                format!("expected `{name}` at most once in the query"),
            ));
        }
        Ok(found)
    }

    /// Takes a parameter that may come several times.
    pub(crate) fn take_all(&mut self, name: &'static str) -> Vec<String> {
        self.taken.push(name);
        let (found, rest) = std::mem::take(&mut self.pairs)
            .into_iter()
            .partition(|(key, _)| key == name);
        self.pairs = rest;
        let found: Vec<(String, String)> = found;
        found.into_iter().map(|(_, value)| value).collect()
    }

    /// Takes a whole number; `default` when it is absent.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        default: u64,
        allowed: RangeInclusive<u64>,
    ) -> Result<u64, Rejection> {
        let Some(text) = self.take(name)? else {
            return Ok(default);
        };
        match text.parse() {
            Ok(number) if allowed.contains(&number) => Ok(number),
            _ => Err(bad_request(
                &format!("/{name}"),
                format!(
                    "expected `{name}` to be a whole number from {} to {}, got {text:?}",
                    allowed.start(),
                    allowed.end()
                ),
            )),
        }
    }

    /// Takes one of a few words; `expected` lists them.
    pub(crate) fn word<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, Rejection> {
        let Some(text) = self.take(name)? else {
            return Ok(None);
        };
        parse(&text).map(Some).ok_or_else(|| {
            let detail = format!("expected `{name}` to be {expected}, got {text:?}");
            bad_request(&format!("/{name}"), detail)
        })
    }

    /// Everything not taken, as a filter.
    pub(crate) fn filter(self) -> Result<Filter, Rejection> {
        Filter::from_pairs(
            self.pairs
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        )
    }

    /// Refuses what is left.
    pub(crate) fn finish(self) -> Result<(), Rejection> {
        let Some((name, _)) = self.pairs.first() else {
            return Ok(());
        };
        let known = if self.taken.is_empty() {
            "no parameters".to_owned()
        } else {
            format!("only {}", self.taken.join(", "))
        };
        Err(bad_request(
            &format!("/{name}"),
            format!("expected {known} in the query, got {name:?}"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn parameters_are_taken_once_and_leftovers_are_named() {
        let mut query = Query::read(Some("max=5&view=full&x=%41+b")).unwrap();
        assert_eq!(query.number("max", 1, 1..=10).unwrap(), 5);
        assert_eq!(query.number("wait_ms", 7, 0..=10).unwrap(), 7);
        assert_eq!(query.take("view").unwrap().as_deref(), Some("full"));
        let refused = query.finish().unwrap_err();
        assert_eq!(refused.first().pointer, "/x");
        assert!(refused.first().detail.contains("max, wait_ms, view"));
    }

    #[test]
    fn repeats_ranges_and_broken_escapes_are_refused() {
        let read = |text| Query::read(Some(text)).unwrap();
        assert!(read("a=1&a=1").take("a").is_err());
        for text in [
            "n=0",
            "n=11",
            "n=-1",
            "n=1.5",
            "n=",
            "n=99999999999999999999",
        ] {
            assert!(read(text).number("n", 1, 1..=10).is_err(), "{text}");
        }
        assert!(Query::read(Some("a=%f")).is_err());
        assert!(Query::read(Some("%ff=1")).is_err());
        assert!(Query::read(None).unwrap().finish().is_ok());
    }
}
