//! A trace as a Mermaid flowchart.
//!
//! Labels are quoted and every character that could end the quotes, or be read as markup, is written
//! as its number, so that no id can change the picture.

use super::forest::{Cause, Trace};
use std::fmt::{self, Write};

impl Trace {
    /// Writes the trace as a Mermaid flowchart.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_mermaid(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str("flowchart TD\n")?;
        for (at, node) in self.nodes.iter().enumerate() {
            let at = at as u32;
            let label = self.label(at, node, "\n");
            writeln!(out, "  n{at}[\"{}\"]{}", Escaped(&label), self.class(at))?;
        }
        for (at, stub) in self.stubs.iter().enumerate() {
            let label = format!("{}\n{}", self.text(stub.id), stub.what.as_str());
            writeln!(out, "  s{at}([\"{}\"]):::absent", Escaped(&label))?;
        }
        for (at, cause) in self.causes.iter().enumerate() {
            match cause {
                Cause::Node(parent) => writeln!(out, "  n{parent} --> n{at}")?,
                Cause::Stub(stub) => writeln!(out, "  s{stub} -.-> n{at}")?,
                Cause::Circle(parent) => writeln!(out, "  n{parent} -.->|circle| n{at}")?,
                Cause::None => {}
            }
        }
        out.write_str(
            "  classDef absent stroke-dasharray:4 4\n  classDef bad stroke:#c00,stroke-width:2px\n  classDef replay stroke-dasharray:2 2\n",
        )
    }

    fn class(&self, at: u32) -> &'static str {
        if self.is_bad(at) {
            ":::bad"
        } else if self.node(at).is_some_and(|node| node.replay_of.is_some()) {
            ":::replay"
        } else {
            ""
        }
    }

    /// Whether a message failed, or what it was sent for did.
    pub(super) fn is_bad(&self, at: u32) -> bool {
        use protocol::Act;
        let is_failure = self.node(at).is_some_and(|node| {
            matches!(
                node.act,
                Act::Fail | Act::Refuse | Act::Reject | Act::TimeOut
            )
        });
        is_failure || self.deliveries(at).iter().any(|one| one.fate.is_bad())
    }
}

/// Text inside the quotes of a label.
struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\n' => f.write_str("<br/>")?,
                ' ' | '-' | '.' | ',' | '+' | '/' | '→' => f.write_char(c)?,
                c if c.is_alphanumeric() => f.write_char(c)?,
                c if c.is_control() => f.write_char('\u{FFFD}')?,
                c => write!(f, "#{};", u32::from(c))?,
            }
        }
        Ok(())
    }
}
