//! What a reader wants and where it starts, as the query of every route spells it.

use std::fmt;

/// Field and pattern pairs: one field again means any of, different fields mean all of.
///
/// The fields are those of the exchange: `type`, `source`, `target`, `topic`, `conversation`,
/// `task`, `session`, `intent`, `dialect`, `priority`. They are checked there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pairs: Vec<(String, String)>,
}

impl Filter {
    /// A filter that lets everything pass.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more pattern for a field.
    #[must_use]
    pub fn with(mut self, field: &str, pattern: &str) -> Self {
        self.pairs.push((field.to_owned(), pattern.to_owned()));
        self
    }

    /// The pairs in the order given.
    #[must_use]
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// The JSON object for the socket and for durable subscriptions: `{"type":["task.*"]}`.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        for (field, pattern) in &self.pairs {
            let list = object
                .entry(field.clone())
                .or_insert_with(|| serde_json::json!([]));
            if let serde_json::Value::Array(patterns) = list {
                patterns.push(pattern.clone().into());
            }
        }
        object.into()
    }
}

/// Where a reader starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// The first message that is kept.
    Earliest,
    /// Only what comes from now on.
    Latest,
    /// After a cursor, or from an RFC 3339 time.
    At(String),
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Earliest => f.write_str("earliest"),
            Self::Latest => f.write_str("latest"),
            Self::At(place) => f.write_str(place),
        }
    }
}

impl std::convert::From<&str> for From {
    fn from(text: &str) -> Self {
        match text {
            "earliest" => Self::Earliest,
            "latest" => Self::Latest,
            _ => Self::At(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Filter;

    #[test]
    fn a_repeated_field_becomes_one_list() {
        let filter = Filter::new()
            .with("type", "a")
            .with("target", "agent:b")
            .with("type", "c.*");
        assert_eq!(
            filter.to_json(),
            serde_json::json!({"type": ["a", "c.*"], "target": ["agent:b"]})
        );
    }
}
