//! A trace as a directed graph in the DOT language.

use super::forest::{Cause, Trace};
use super::node::Node;
use std::fmt::{self, Write};

impl Trace {
    /// Writes the trace as a DOT graph.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_dot(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "digraph \"{}\" {{", Escaped(self.text(self.asked)))?;
        out.write_str(
            "  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n",
        )?;
        for (at, node) in self.nodes.iter().enumerate() {
            let at = at as u32;
            let label = self.label(at, node, "\n");
            let more = match (self.is_bad(at), node.replay_of) {
                (true, _) => ", color=\"#cc0000\", penwidth=2",
                (false, Some(_)) => ", style=dashed",
                (false, None) => "",
            };
            writeln!(out, "  n{at} [label=\"{}\"{more}];", Escaped(&label))?;
        }
        for (at, stub) in self.stubs.iter().enumerate() {
            let label = format!("{}\n{}", self.text(stub.id), stub.what.as_str());
            writeln!(
                out,
                "  s{at} [label=\"{}\", shape=ellipse, style=dashed];",
                Escaped(&label)
            )?;
        }
        for (at, cause) in self.causes.iter().enumerate() {
            match cause {
                Cause::Node(parent) => writeln!(out, "  n{parent} -> n{at};")?,
                Cause::Stub(stub) => writeln!(out, "  s{stub} -> n{at} [style=dashed];")?,
                Cause::Circle(parent) => writeln!(
                    out,
                    "  n{parent} -> n{at} [style=dashed, label=\"circle\", constraint=false];"
                )?,
                Cause::None => {}
            }
        }
        out.write_str("}\n")
    }

    /// What a message is, in lines, for a box of a picture.
    pub(super) fn label(&self, at: u32, node: &Node, line: &str) -> String {
        let mut label = self.what(node);
        label.push_str(line);
        label.push_str(&self.way(node));
        label.push_str(line);
        label.push_str(&self.since(node));
        let fate = self.fate(at, node);
        if !fate.is_empty() {
            label.push_str("  ");
            label.push_str(&fate);
        }
        label
    }
}

/// Text inside a double-quoted DOT string.
struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => f.write_char('\u{FFFD}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
