//! Standard output: lines, and colours only where a person looks at them.

use crate::failure::Failure;
use std::io::{IsTerminal as _, Write as _};

/// A line on standard output, flushed when it ends.
pub fn line(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// Bytes and a line end on standard output.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// A line on standard error. A closed error stream is nobody's problem.
pub fn note(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

/// The few colours in use.
#[derive(Clone, Copy, Debug)]
pub enum Colour {
    /// Secondary text.
    Dim,
    /// What matters most in a line.
    Bold,
    /// Good.
    Green,
    /// Bad.
    Red,
    /// Noteworthy.
    Yellow,
    /// A name.
    Cyan,
}

/// Colours text, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    /// Colours when standard output is a terminal and `NO_COLOR` is unset or empty.
    pub fn of_stdout() -> Self {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            is_on: std::io::stdout().is_terminal() && !is_refused,
        }
    }

    /// No colours: for standard error.
    pub fn off() -> Self {
        Self { is_on: false }
    }

    /// Whether it colours.
    pub fn is_on(self) -> bool {
        self.is_on
    }

    /// `text` in that colour.
    pub fn paint(self, colour: Colour, text: &str) -> String {
        if !self.is_on {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Bold => "1",
            Colour::Dim => "2",
            Colour::Red => "31",
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Cyan => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Text from outside for a terminal: control characters cannot move the cursor or change colours.
pub fn tame(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{FFFD}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(super::tame("a\x1b[2Jb\n"), "a\u{FFFD}[2Jb\u{FFFD}");
    }
}
