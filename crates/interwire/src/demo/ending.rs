//! The end of the demo: the trees, the counts, the verdict.

use super::play::Options;
use super::script::{Conversation, differences};
use super::traced::{Traced, counts};
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint};
use serde_json::json;
use std::collections::BTreeMap;

/// What is known when everything has ended.
pub struct Ending {
    /// How it was played.
    pub options: Options,
    /// Colours or none.
    pub paint: Paint,
    /// Publishes that the exchange had already.
    pub repeated: usize,
    /// Deliveries that an agent had handled already.
    pub skipped: usize,
    /// Whether the exchange ended well.
    pub has_drained: bool,
    /// Who was killed, each time with the exchange.
    pub killed: Vec<&'static str>,
}

impl Ending {
    /// Prints the trees and the verdict; the answer is no when anything is wrong.
    pub fn print(
        &self,
        found: &[(String, &'static Conversation, Traced)],
    ) -> Result<Answer, Failure> {
        let mut wrong = Vec::new();
        let mut total = 0;
        for (id, script, trace) in found {
            let messages = trace.messages();
            total += messages.len();
            let mut differences = differences(script, &messages);
            if trace.missing() > 0 {
                differences.push(format!("{id}: a cause was never seen"));
            }
            self.conversation(id, script, trace, &differences)?;
            wrong.extend(differences);
        }
        if !self.has_drained {
            wrong.push("the exchange did not end in time after SIGTERM".into());
        }
        let is_right = wrong.is_empty();
        if self.options.is_json {
            output::line(
                &json!({ "ok": is_right, "messages": total, "wrong": wrong,
                         "killed": self.killed, "repeated": self.repeated,
                         "redelivered_and_skipped": self.skipped })
                .to_string(),
            )?;
        } else {
            for sentence in &wrong {
                output::line(&format!(
                    "{} {sentence}",
                    self.paint.paint(Colour::Red, "wrong:")
                ))?;
            }
            let verdict = if is_right {
                self.paint
                    .paint(Colour::Green, "nothing lost, nothing done twice")
            } else {
                self.paint.paint(Colour::Red, "not as it should be")
            };
            output::line(&format!(
                "{total} messages in {} conversations; recognised repetitions: {} publishes, {} \
                 deliveries; {verdict}",
                found.len(),
                self.repeated,
                self.skipped
            ))?;
        }
        Ok(if is_right { Answer::Yes } else { Answer::No })
    }

    fn conversation(
        &self,
        id: &str,
        script: &Conversation,
        trace: &Traced,
        differences: &[String],
    ) -> Result<(), Failure> {
        let counts = counts(&trace.messages());
        if self.options.is_json {
            let counts: BTreeMap<_, _> = counts.into_iter().collect();
            return output::line(
                &json!({ "conversation": id, "title": script.title, "counts": counts,
                         "trace": trace.json, "wrong": differences })
                .to_string(),
            );
        }
        output::line("")?;
        output::line(&self.paint.paint(Colour::Bold, script.title))?;
        let counts: Vec<_> = counts
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        output::line(&self.paint.paint(Colour::Dim, &counts.join(", ")))?;
        for line in trace.text.lines() {
            output::line(line)?;
        }
        Ok(())
    }
}
