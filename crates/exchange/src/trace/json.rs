//! A trace as JSON: a flat list in journal order, because a chain of causes may be longer than any
//! reader's limit on nesting. `docs/trace.md` describes every member.

use super::fate::{Delivery, Fate};
use super::forest::{Absent, Cause, Item, Trace};
use super::node::Node;
use super::texts::TextId;
use crate::place::PlaceName;
use protocol::Timestamp;
use protocol::json::push_string;
use std::fmt::{self, Write};

impl Trace {
    /// Writes the trace as one line of JSON. `cursor` spells a sequence.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, out: &mut impl Write, cursor: &dyn Fn(u64) -> String) -> fmt::Result {
        let mut head = String::from("{\"asked\":");
        push_string(&mut head, self.text(self.asked));
        head.push_str(",\"by\":");
        match self.seed {
            Some((by, text)) => {
                push_string(&mut head, by.as_str());
                head.push_str(",\"name\":");
                push_string(&mut head, self.text(text));
            }
            None => head.push_str("\"message\",\"name\":null"),
        }
        let duration = self.end().as_millis() - self.start().as_millis();
        write!(
            head,
            ",\"messages\":{},\"missing\":{},\"started_at\":{},\"duration_ms\":{duration},\"next\":",
            self.len(),
            self.gaps(),
            Moment(self.nodes.first().map(|node| node.at)),
        )?;
        match self.next {
            Some(after) => push_string(&mut head, &cursor(after)),
            None => head.push_str("null"),
        }
        head.push_str(",\"related\":[");
        for (at, (conversation, shared)) in self.related.iter().enumerate() {
            head.push_str(if at > 0 { "," } else { "" });
            head.push_str("{\"conversation\":");
            push_string(&mut head, self.text(*conversation));
            head.push_str(",\"shares\":");
            push_string(&mut head, self.text(*shared));
            head.push('}');
        }
        head.push_str("],\"absent\":[");
        self.push_absent(&mut head, cursor)?;
        head.push_str("],\"nodes\":[");
        out.write_str(&head)?;
        let mut line = head;
        for (at, node) in self.nodes.iter().enumerate() {
            line.clear();
            line.push_str(if at > 0 { "," } else { "" });
            self.push_node(&mut line, at as u32, node, cursor)?;
            out.write_str(&line)?;
        }
        out.write_str("]}\n")
    }

    /// The causes that are not messages of this trace, and who names them.
    fn push_absent(&self, out: &mut String, cursor: &dyn Fn(u64) -> String) -> fmt::Result {
        for (at, stub) in self.stubs.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            out.push_str("{\"id\":");
            push_string(out, self.text(stub.id));
            write!(out, ",\"state\":\"{}\"", stub.what.as_str())?;
            match &stub.what {
                Absent::Missing => {}
                Absent::Elsewhere(sequence) => {
                    write!(out, ",\"cursor\":\"{}\"", cursor(*sequence))?;
                }
                Absent::Ambiguous(several) => {
                    out.push_str(",\"candidates\":[");
                    for (at, (sequence, sender, conversation)) in several.iter().enumerate() {
                        out.push_str(if at > 0 { "," } else { "" });
                        write!(out, "{{\"cursor\":\"{}\",\"from\":", cursor(*sequence))?;
                        push_string(out, self.text(*sender));
                        out.push_str(",\"conversation\":");
                        self.push_text(out, *conversation);
                        out.push('}');
                    }
                    out.push(']');
                }
            }
            out.push_str(",\"named_by\":[");
            self.push_cursors(out, Item::Stub(at as u32), cursor);
            out.push_str("]}");
        }
        Ok(())
    }

    fn push_node(
        &self,
        out: &mut String,
        at: u32,
        node: &Node,
        cursor: &dyn Fn(u64) -> String,
    ) -> fmt::Result {
        write!(
            out,
            "{{\"cursor\":\"{}\",\"dialect\":\"{}\",\"id\":",
            cursor(node.sequence),
            node.dialect.as_str()
        )?;
        push_string(out, self.text(node.id));
        write!(out, ",\"act\":\"{}\",\"type\":", node.act.as_str())?;
        push_string(out, self.text(node.kind));
        out.push_str(",\"intent\":");
        self.push_text(out, node.intent);
        out.push_str(",\"from\":");
        push_string(out, self.text(node.sender));
        for (name, texts) in [("to", &node.to), ("topics", &node.topics)] {
            write!(out, ",\"{name}\":[")?;
            self.push_texts(out, texts);
            out.push(']');
        }
        let names = [
            ("conversation", node.conversation),
            ("correlation", node.correlation),
            ("task", node.task),
            ("replay_of", node.replay_of),
        ];
        for (name, text) in names {
            write!(out, ",\"{name}\":")?;
            self.push_text(out, text);
        }
        let since = node.at.as_millis() - self.start().as_millis();
        write!(
            out,
            ",\"accepted_at\":\"{}\",\"since_ms\":{since},\"intake\":\"{}\",\"cause\":",
            node.at,
            if node.is_log { "log" } else { "work" }
        )?;
        self.push_cause(out, at, node, cursor)?;
        out.push_str(",\"effects\":[");
        self.push_cursors(out, Item::Node(at), cursor);
        out.push_str("],\"refused\":[");
        self.push_texts(out, &node.refused);
        out.push_str("],\"deliveries\":[");
        for (at, delivery) in self.deliveries(at).iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            self.push_delivery(out, delivery)?;
        }
        out.push_str("],\"warnings\":[");
        for (at, code) in node.warnings.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            write!(out, "\"{code}\"")?;
        }
        out.push_str("]}");
        Ok(())
    }

    fn push_cause(
        &self,
        out: &mut String,
        at: u32,
        node: &Node,
        cursor: &dyn Fn(u64) -> String,
    ) -> fmt::Result {
        let Some(id) = node.cause else {
            out.push_str("null");
            return Ok(());
        };
        out.push_str("{\"id\":");
        push_string(out, self.text(id));
        let (state, named) = match self.cause(at) {
            Cause::None => ("missing", None),
            Cause::Node(cause) => ("found", self.node(*cause)),
            Cause::Circle(cause) => ("circle", self.node(*cause)),
            Cause::Stub(stub) => {
                let what = self.stub(*stub).map(|stub| &stub.what);
                let state = what.map_or("missing", Absent::as_str);
                if let Some(Absent::Elsewhere(sequence)) = what {
                    write!(out, ",\"cursor\":\"{}\"", cursor(*sequence))?;
                }
                (state, None)
            }
        };
        if let Some(named) = named {
            write!(out, ",\"cursor\":\"{}\"", cursor(named.sequence))?;
        }
        write!(out, ",\"state\":\"{state}\"}}")
    }

    fn push_delivery(&self, out: &mut String, delivery: &Delivery) -> fmt::Result {
        let (kind, name) = self.place_words(delivery);
        write!(out, "{{\"{kind}\":")?;
        push_string(out, &name);
        write!(out, ",\"state\":\"{}\"", delivery.fate.as_str())?;
        let mut text = |name: &str, text: Option<&str>| {
            if let Some(text) = text {
                out.push_str(",\"");
                out.push_str(name);
                out.push_str("\":");
                push_string(out, text);
            }
        };
        match &delivery.fate {
            Fate::Waiting | Fate::Removed => {}
            Fate::Held { consumer, until } => {
                text("until", Some(&until.to_string()));
                text("consumer", consumer.as_deref());
            }
            Fate::Resting { until } => text("until", Some(&until.to_string())),
            Fate::Acked { at, consumer, by } => {
                text("at", Some(&at.to_string()));
                text("consumer", consumer.as_deref());
                text("by", by.as_deref());
            }
            Fate::Ended { at, reason, .. } => {
                text("at", Some(&at.to_string()));
                text(
                    "reason",
                    Some(reason)
                        .filter(|reason| !reason.is_empty())
                        .map(|reason| &**reason),
                );
            }
        }
        write!(out, ",\"attempts\":{},\"failures\":[", delivery.attempts)?;
        for (at, failed) in delivery.failures.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            write!(
                out,
                "{{\"attempt\":{},\"at\":\"{}\",\"why\":\"{}\",\"error\":",
                failed.attempt,
                failed.at,
                failed.why.as_str()
            )?;
            push_string(out, &failed.error);
            out.push('}');
        }
        out.push_str("],\"redriven\":[");
        for (at, moment) in delivery.redriven.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            write!(out, "\"{moment}\"")?;
        }
        out.push_str("]}");
        Ok(())
    }

    /// What kind of place a delivery is from, and its name.
    pub(super) fn place_words(&self, delivery: &Delivery) -> (&'static str, String) {
        match self.names.get(&delivery.place) {
            Some(Some(PlaceName::Inbox(party))) => ("party", party.to_string()),
            Some(Some(PlaceName::Subscription(name))) => ("subscription", name.to_string()),
            Some(None) | None => ("place", delivery.place.0.to_string()),
        }
    }

    fn push_cursors(&self, out: &mut String, item: Item, cursor: &dyn Fn(u64) -> String) {
        let nodes = self.children(item).iter().filter_map(|at| self.node(*at));
        for (at, node) in nodes.enumerate() {
            out.push_str(if at > 0 { ",\"" } else { "\"" });
            out.push_str(&cursor(node.sequence));
            out.push('"');
        }
    }

    fn push_text(&self, out: &mut String, text: Option<TextId>) {
        match text {
            Some(text) => push_string(out, self.text(text)),
            None => out.push_str("null"),
        }
    }

    fn push_texts(&self, out: &mut String, texts: &[TextId]) {
        for (at, text) in texts.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            push_string(out, self.text(*text));
        }
    }
}

impl Absent {
    /// The word on every surface.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Elsewhere(_) => "elsewhere",
            Self::Ambiguous(_) => "ambiguous",
        }
    }
}

/// A moment as JSON.
struct Moment(Option<Timestamp>);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(moment) => write!(f, "\"{moment}\""),
            None => f.write_str("null"),
        }
    }
}
