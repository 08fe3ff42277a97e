//! A trace as a tree of text: what people read in an incident.
//!
//! ```text
//! conversation CONV_1: 4 messages, 1 missing, 1.204 s from 2026-11-30T16:00:00.000Z
//!     +0 ms  task quox.security.scan          human:adam → agent:router      acked +8 ms
//!   +110 ms  └─ task quox.security.scan       agent:router → agent:scanner   acked +120 ms, attempt 2
//!   +118 ms     │    ! attempt 1 nacked +115 ms: busy
//!  +1.204 s     └─ result quox.security.scan  agent:scanner → agent:router   waiting
//! ```
//!
//! However long a chain of causes is, a line stays short: of the bars only those of the nearest causes
//! are drawn, behind the number of those that are not.

use super::fate::{Delivery, Fate};
use super::forest::{Absent, Cause, Item, Trace};
use super::node::Node;
use std::fmt::{self, Write};

/// How the tree looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// With the colours of a terminal.
    pub is_coloured: bool,
}

/// Bars that are drawn.
const BARS_MAX: usize = 8;
/// Columns are as wide as their widest cell, up to so many characters.
const COLUMN_MAX: usize = 72;
/// Recipients that are named; the rest is counted.
const NAMED_MAX: usize = 4;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const YELLOW: &str = "33";
const CYAN: &str = "36";

impl Trace {
    /// Writes the trace as a tree.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(&self, out: &mut impl Write, style: Style) -> fmt::Result {
        let paint = |code, text| Painted {
            code,
            text,
            is_on: style.is_coloured,
        };
        let (head, missing) = self.head();
        write!(out, "{}", paint(BOLD, head))?;
        writeln!(out, "{}", paint(RED, missing))?;
        for (conversation, shared) in &self.related {
            let line = format!(
                "related: conversation {} shares {}",
                tame(self.text(*conversation)),
                tame(self.text(*shared))
            );
            writeln!(out, "{}", paint(DIM, line))?;
        }
        let widths = self.widths();
        let mut walk = Walk::new(&self.roots);
        let mut bars = String::new();
        while let Some((item, branch)) = walk.next(self, &mut bars) {
            match item {
                Item::Node(at) => self.write_node(out, at, (&bars, branch), widths, &paint)?,
                Item::Stub(at) => self.write_stub(out, at, (&bars, branch), &paint)?,
            }
        }
        if self.next.is_some() {
            writeln!(out, "{}", paint(YELLOW, "… there is more".into()))?;
        }
        Ok(())
    }

    /// The first line, and the part of it that is a warning.
    fn head(&self) -> (String, String) {
        let name = match self.seed {
            Some((by, text)) => format!("{} {}", by.as_str(), tame(self.text(text))),
            None => format!("message {}", tame(self.text(self.asked))),
        };
        let count = self.len();
        let plural = if count == 1 { "" } else { "s" };
        let lasted = self.end().as_millis() - self.start().as_millis();
        let head = format!(
            "{name}: {count} message{plural}, {} from {}",
            duration(lasted),
            self.start()
        );
        let missing = match self.gaps() {
            0 => String::new(),
            gaps => format!(", {gaps} missing"),
        };
        (head, missing)
    }

    fn write_node(
        &self,
        out: &mut impl Write,
        at: u32,
        (bars, branch): (&str, &str),
        (what_width, way_width): (usize, usize),
        paint: &dyn Fn(&'static str, String) -> Painted,
    ) -> fmt::Result {
        let Some(node) = self.node(at) else {
            return Ok(());
        };
        let what = self.what(node);
        let way = self.way(node);
        let used = bars.chars().count() + branch.chars().count() + what.chars().count();
        let colour = if self.is_bad(at) { RED } else { BOLD };
        write!(
            out,
            "{} {}{}{}",
            paint(DIM, format!("{:>10} ", self.since(node))),
            paint(DIM, format!("{bars}{branch}")),
            paint(colour, what),
            " ".repeat(what_width.saturating_sub(used) + 2),
        )?;
        let pad = " ".repeat(way_width.saturating_sub(way.chars().count()) + 2);
        let fate = self.fate(at, node);
        write!(out, "{}", paint(CYAN, way))?;
        if !fate.is_empty() {
            let colour = match self.deliveries(at) {
                deliveries if deliveries.iter().any(|one| one.fate.is_bad()) => RED,
                deliveries if deliveries.iter().any(|one| !one.failures.is_empty()) => YELLOW,
                _ => DIM,
            };
            write!(out, "{pad}{}", paint(colour, fate))?;
        }
        let id = format!("  {}", tame(self.text(node.id)));
        writeln!(out, "{}", paint(DIM, id))?;
        let notes = self.notes(at, node);
        if notes.is_empty() {
            return Ok(());
        }
        // The bars go on past the notes, down to the children and the next siblings.
        let below = match branch {
            "" => "",
            "└─ " => "   ",
            _ => "│  ",
        };
        let own = if self.children(Item::Node(at)).is_empty() {
            "   "
        } else {
            "│  "
        };
        for note in notes {
            writeln!(
                out,
                "{:>12}{}  {}",
                "",
                paint(DIM, format!("{bars}{below}{own}")),
                paint(YELLOW, note)
            )?;
        }
        Ok(())
    }

    fn write_stub(
        &self,
        out: &mut impl Write,
        at: u32,
        (bars, branch): (&str, &str),
        paint: &dyn Fn(&'static str, String) -> Painted,
    ) -> fmt::Result {
        let Some(stub) = self.stub(at) else {
            return Ok(());
        };
        let id = tame(self.text(stub.id));
        let (colour, line) = match &stub.what {
            Absent::Missing => (
                RED,
                format!("? {id}  missing: never seen, or no longer kept"),
            ),
            Absent::Elsewhere(_) => (DIM, format!("… {id}  not on this page")),
            Absent::Ambiguous(several) => {
                let of: Vec<_> = several
                    .iter()
                    .take(NAMED_MAX)
                    .map(|(_, sender, _)| tame(self.text(*sender)))
                    .collect();
                let line = format!("? {id}  ambiguous: used by {}", of.join(", "));
                (YELLOW, line)
            }
        };
        writeln!(
            out,
            "{:>12}{}{}",
            "",
            paint(DIM, format!("{bars}{branch}")),
            paint(colour, line)
        )
    }

    /// How wide the columns of the messages and of their ways must be.
    fn widths(&self) -> (usize, usize) {
        let (mut what_width, mut way_width) = (0, 0);
        let mut walk = Walk::new(&self.roots);
        let mut bars = String::new();
        while let Some((item, branch)) = walk.next(self, &mut bars) {
            if let Item::Node(at) = item
                && let Some(node) = self.node(at)
            {
                let used = bars.chars().count() + branch.chars().count();
                what_width = what_width.max(used + self.what(node).chars().count());
                way_width = way_width.max(self.way(node).chars().count());
            }
        }
        (what_width.min(COLUMN_MAX), way_width.min(COLUMN_MAX))
    }

    /// What a message is: its type and intent.
    pub(super) fn what(&self, node: &Node) -> String {
        let replay = if node.replay_of.is_some() {
            "replay: "
        } else {
            ""
        };
        let mut what = format!("{replay}{}", tame(self.text(node.kind)));
        if let Some(intent) = node.intent {
            what.push(' ');
            what.push_str(&tame(self.text(intent)));
        }
        what
    }

    /// From whom to whom.
    pub(super) fn way(&self, node: &Node) -> String {
        let mut to: Vec<_> = node
            .to
            .iter()
            .take(NAMED_MAX)
            .map(|party| tame(self.text(*party)))
            .collect();
        if to.is_empty() {
            to.extend(
                node.topics
                    .iter()
                    .take(NAMED_MAX)
                    .map(|topic| format!("#{}", tame(self.text(*topic)))),
            );
        }
        let rest = node.to.len().saturating_sub(NAMED_MAX);
        if rest > 0 {
            to.push(format!("{rest} more"));
        }
        let to = if to.is_empty() {
            "everybody".to_owned()
        } else {
            to.join(", ")
        };
        format!("{} → {to}", tame(self.text(node.sender)))
    }

    /// When, counted from the first message.
    pub(super) fn since(&self, node: &Node) -> String {
        format!(
            "+{}",
            duration(node.at.as_millis() - self.start().as_millis())
        )
    }

    /// What became of it, in a few words.
    pub(super) fn fate(&self, at: u32, node: &Node) -> String {
        if node.is_log {
            return "logged".into();
        }
        let deliveries = self.deliveries(at);
        let mut words: Vec<String> = match deliveries {
            // The one place is the one recipient, whose name is on the line already.
            [only] if self.is_recipient(only, node) => vec![self.fate_of(only)],
            several => several
                .iter()
                .take(NAMED_MAX)
                .map(|delivery| {
                    let (kind, name) = self.place_words(delivery);
                    let name = match kind {
                        "party" => tame(&name),
                        kind => format!("{kind} {}", tame(&name)),
                    };
                    format!("{name} {}", self.fate_of(delivery))
                })
                .collect(),
        };
        if deliveries.len() > NAMED_MAX {
            words.push(format!("{} more", deliveries.len() - NAMED_MAX));
        }
        if !node.refused.is_empty() {
            words.push(format!("{} refused", node.refused.len()));
        }
        words.join("; ")
    }

    fn is_recipient(&self, delivery: &Delivery, node: &Node) -> bool {
        let (kind, name) = self.place_words(delivery);
        kind == "party" && matches!(&*node.to, [to] if self.text(*to) == name)
    }

    fn fate_of(&self, delivery: &Delivery) -> String {
        let after = |at: protocol::Timestamp| duration(at.as_millis() - self.start().as_millis());
        let mut text = delivery.fate.as_str().to_owned();
        match &delivery.fate {
            Fate::Waiting | Fate::Resting { .. } | Fate::Removed => {}
            Fate::Held { consumer, .. } => {
                if let Some(consumer) = consumer {
                    let _ = write!(text, " to {}", tame(consumer));
                }
            }
            Fate::Acked { at, consumer, .. } => {
                let _ = write!(text, " +{}", after(*at));
                if let Some(consumer) = consumer {
                    let _ = write!(text, " by {}", tame(consumer));
                }
            }
            Fate::Ended { at, reason, .. } => {
                let _ = write!(text, " +{}", after(*at));
                if !reason.is_empty() {
                    let _ = write!(text, " ({})", tame(reason));
                }
            }
        }
        match delivery.failures.len() {
            0 if delivery.attempts < 2 => {}
            0 => {
                let _ = write!(text, ", attempt {}", delivery.attempts);
            }
            failed => {
                let plural = if failed == 1 { "" } else { "s" };
                let _ = write!(text, ", {failed} failed attempt{plural}");
            }
        }
        text
    }

    /// What deserves a line of its own.
    fn notes(&self, at: u32, node: &Node) -> Vec<String> {
        let mut notes = Vec::new();
        if let Cause::Circle(cause) = self.cause(at)
            && let Some(cause) = self.node(*cause)
        {
            let id = tame(self.text(cause.id));
            notes.push(format!("! names {id} as its cause, which is its effect"));
        }
        if let Some(original) = node.replay_of {
            notes.push(format!("a replay of {}", tame(self.text(original))));
        }
        for delivery in self.deliveries(at) {
            let (_, name) = self.place_words(delivery);
            for failed in &delivery.failures {
                let at = duration(failed.at.as_millis() - self.start().as_millis());
                let mut note = format!(
                    "! attempt {} at {} {} +{at}",
                    failed.attempt,
                    tame(&name),
                    failed.why.as_str()
                );
                if !failed.error.is_empty() {
                    let _ = write!(note, ": {}", tame(&failed.error));
                }
                notes.push(note);
            }
            for moment in &delivery.redriven {
                let at = duration(moment.as_millis() - self.start().as_millis());
                notes.push(format!("redriven to {} +{at}", tame(&name)));
            }
        }
        notes
    }
}

/// Depth first, with a stack of its own: a chain of causes may be as long as the trace.
struct Walk {
    /// Items that wait, with their depth; the next is the last. Of each whether it is the last of
    /// its siblings.
    stack: Vec<(Item, usize, bool)>,
    /// For each depth above the present one, whether its item was the last of its siblings.
    path: Vec<bool>,
}

impl Walk {
    fn new(roots: &[Item]) -> Self {
        let stack = roots.iter().rev().map(|root| (*root, 0, true)).collect();
        Self {
            stack,
            path: Vec::new(),
        }
    }

    /// The next item and its branch; its bars are written into `bars`.
    fn next(&mut self, trace: &Trace, bars: &mut String) -> Option<(Item, &'static str)> {
        let (item, depth, is_last) = self.stack.pop()?;
        self.path.truncate(depth);
        bars.clear();
        // The item itself has a branch, and roots have no bars at all.
        let above = self.path.get(1..).unwrap_or_default();
        let hidden = above.len().saturating_sub(BARS_MAX);
        if hidden > 0 {
            let _ = write!(bars, "⋯{hidden} ");
        }
        for was_last in above.iter().skip(hidden) {
            bars.push_str(if *was_last { "   " } else { "│  " });
        }
        self.path.push(is_last);
        let children = trace.children(item);
        for (from_end, child) in children.iter().rev().enumerate() {
            self.stack
                .push((Item::Node(*child), depth + 1, from_end == 0));
        }
        let branch = match (depth, is_last) {
            (0, _) => "",
            (_, true) => "└─ ",
            (_, false) => "├─ ",
        };
        Some((item, branch))
    }
}

/// A text in a colour, or not.
struct Painted {
    code: &'static str,
    text: String,
    is_on: bool,
}

impl fmt::Display for Painted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_on && !self.text.is_empty() {
            write!(f, "\x1b[{}m{}\x1b[0m", self.code, self.text)
        } else {
            f.write_str(&self.text)
        }
    }
}

/// Text from outside: it cannot move a terminal's cursor, change its colours or turn a line around.
fn tame(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| {
            if c.is_control() || turns(c) {
                '\u{FFFD}'
            } else {
                c
            }
        })
        .collect()
}

/// A length of time for people: the larger it is, the less its details matter.
fn duration(millis: i64) -> String {
    let sign = if millis < 0 { "-" } else { "" };
    let millis = millis.unsigned_abs();
    let (seconds, minutes, hours) = (millis / 1_000, millis / 60_000, millis / 3_600_000);
    match millis {
        0..1_000 => format!("{sign}{millis} ms"),
        1_000..60_000 => format!("{sign}{seconds}.{:03} s", millis % 1_000),
        60_000..3_600_000 => format!("{sign}{minutes} m {:02} s", seconds % 60),
        3_600_000..86_400_000 => format!("{sign}{hours} h {:02} m", minutes % 60),
        _ => format!("{sign}{} d {:02} h", hours / 24, hours % 24),
    }
}
