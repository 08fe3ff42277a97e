//! How a verb ends: what is said, and the exit code scripts rely on.
//!
//! 0 done, 1 the answer is no, 2 wrong use, 3 cannot reach the exchange.

use std::process::ExitCode;

/// A verb that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Yes,
    /// The answer is no, and the output says why.
    No,
}

/// A verb that could not.
#[derive(Debug)]
pub enum Failure {
    /// The exchange, a file or the system said no.
    Refused(String),
    /// The command line or the configuration is wrong.
    Usage(String),
    /// The exchange cannot be reached.
    Unreachable(String),
    /// Nobody reads our output any more, as behind `| head`.
    OutputClosed,
}

impl Failure {
    /// The sentence for people; `None` when there is nobody to tell.
    pub fn sentence(&self) -> Option<&str> {
        match self {
            Self::Refused(text) | Self::Usage(text) | Self::Unreachable(text) => Some(text),
            Self::OutputClosed => None,
        }
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::OutputClosed => 0,
            Self::Refused(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable(_) => 3,
        })
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Unreachable { .. } => Self::Unreachable(format!(
                "{error}; is it running? start one with `interwire serve`, or name it with --url"
            )),
            client::Error::Closed => Self::Unreachable(error.to_string()),
            client::Error::Input(text) => Self::Usage(text),
            client::Error::Refused(_) | client::Error::Answer { .. } => {
                Self::Refused(error.to_string())
            }
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::Refused(error.to_string())
        }
    }
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::FAILURE,
        }
    }
}
