//! What can go wrong, with the exchange's own explanation inside.

use serde::Deserialize;
use std::fmt;

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The exchange refused; its problem document says why.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// The exchange cannot be reached, or the connection broke.
    #[error("cannot reach the exchange at {url}: {reason}")]
    Unreachable {
        /// The address that was tried.
        url: String,
        /// The deepest reason the system gave.
        reason: String,
    },
    /// The exchange answered something this client does not understand.
    #[error("expected {expected}, got {got}")]
    Answer {
        /// What would have been right.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// The caller passed something that cannot be sent.
    #[error("{0}")]
    Input(String),
    /// The connection was closed before the answer came.
    #[error("the connection was closed before the answer came")]
    Closed,
}

impl Error {
    /// The problem document, when the exchange refused.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            Self::Unreachable { .. } | Self::Answer { .. } | Self::Input(_) | Self::Closed => None,
        }
    }

    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused(problem) => problem.retryable,
            Self::Unreachable { .. } | Self::Closed => true,
            Self::Answer { .. } | Self::Input(_) => false,
        }
    }

    /// Milliseconds after which the exchange wants to be asked again.
    #[must_use]
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.problem().and_then(|problem| problem.retry_after_ms)
    }

    pub(crate) fn unreachable(url: &str, error: &dyn std::error::Error) -> Self {
        let mut deepest = error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        Self::Unreachable {
            url: url.to_owned(),
            reason: deepest.to_string(),
        }
    }
}

/// A refusal as RFC 9457 writes it, with the exchange's own members.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable fault code.
    pub code: String,
    /// One short sentence about the code.
    pub title: String,
    /// What was expected and what came.
    pub detail: String,
    /// RFC 6901 pointer into the envelope.
    pub pointer: String,
    /// The rule that was broken.
    pub rule: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Milliseconds to wait before the same request is sent again.
    pub retry_after_ms: Option<u64>,
    /// The earliest cursor to read from, of a refusal that is about a cursor.
    pub earliest: Option<String>,
    /// The newest cursor, likewise.
    pub head: Option<String>,
    /// Every fault, in document order.
    pub errors: Vec<ProblemFault>,
    /// The whole document as it came.
    #[serde(skip)]
    pub raw: String,
}

/// One fault of a refusal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProblemFault {
    /// The stable fault code.
    pub code: String,
    /// RFC 6901 pointer into the envelope.
    pub pointer: String,
    /// The rule that was broken.
    pub rule: String,
    /// What was expected and what came.
    pub detail: String,
}

impl Problem {
    /// Reads a problem document; anything else becomes one with the status and the text.
    #[must_use]
    pub fn read(status: u16, body: &[u8]) -> Self {
        let raw = String::from_utf8_lossy(body).into_owned();
        let mut problem = serde_json::from_slice::<Self>(body).unwrap_or_else(|_| Self {
            detail: raw.clone(),
            ..Self::default()
        });
        if problem.status == 0 {
            problem.status = status;
        }
        problem.raw = raw;
        problem
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = if self.code.is_empty() {
            "refused"
        } else {
            &self.code
        };
        write!(f, "{code}")?;
        if self.errors.len() > 1 {
            for fault in &self.errors {
                write!(
                    f,
                    "\n  {} at {:?}: {} ({})",
                    fault.code, fault.pointer, fault.detail, fault.rule
                )?;
            }
            return Ok(());
        }
        if !self.pointer.is_empty() {
            write!(f, " at {:?}", self.pointer)?;
        }
        write!(f, ": {}", self.detail)?;
        if !self.rule.is_empty() {
            write!(f, " ({})", self.rule)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Problem};

    #[test]
    fn a_problem_document_is_read_whole() {
        let body = br#"{"status":422,"code":"missing_field","detail":"expected `to`","pointer":"/to",
            "rule":"AEE 1.1","retryable":false,"errors":[{"code":"missing_field"},{"code":"too_short"}]}"#;
        let problem = Problem::read(422, body);
        assert_eq!(
            (problem.code.as_str(), problem.pointer.as_str()),
            ("missing_field", "/to")
        );
        assert_eq!(problem.errors.len(), 2);
        assert_eq!(problem.raw.as_bytes(), body);
    }

    #[test]
    fn any_other_body_still_says_what_came() {
        let problem = Problem::read(502, b"bad gateway");
        assert_eq!(
            (problem.status, problem.detail.as_str()),
            (502, "bad gateway")
        );
        assert!(!Error::Refused(Box::new(problem)).is_retryable());
    }
}
