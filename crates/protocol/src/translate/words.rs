//! Which word of each dialect says an act: the table that translation and its page are made from.

use crate::{Act, DialectName};

/// How a dialect says an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// With a word that means just this.
    Exact(&'static str),
    /// With the nearest word; it reads as another act.
    Near(&'static str, Act),
    /// Not at all, and why.
    Missing(&'static str),
}

/// One act in every dialect.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What is said.
    pub act: Act,
    /// AEE: the type, and for what it has no type the word that stands for it.
    pub aee: Word,
    /// AEP: the event type.
    pub aep: Word,
    /// UAI-1: the profile, and the word in its body.
    pub uai: Word,
}

use Word::{Exact, Missing, Near};

const CONTROL: &str =
    "speaks of the link between two peers of one dialect, and says nothing to anyone else";
const PROPOSAL: &str = "has no proposal that somebody must decide on";
const NEVER: &str = "no dialect says it: work that goes on is started again";

const fn row(act: Act, aee: Word, aep: Word, uai: Word) -> Row {
    Row { act, aee, aep, uai }
}

/// Every act.
#[rustfmt::skip]
pub static ROWS: [Row; 20] = [
    row(Act::Request, Exact("task"), Exact("task.submitted"), Exact("uai.intent.request.v1")),
    row(Act::Accept, Exact("event task.accepted"), Exact("task.accepted"), Exact("uai.task.status.v1 accepted")),
    row(Act::Refuse, Exact("error E_REFUSED"), Near("task.failed", Act::Fail), Exact("uai.intent.response.v1 rejected")),
    row(Act::Start, Exact("event task.started"), Exact("task.started"), Near("uai.task.status.v1 running", Act::Progress)),
    row(Act::Progress, Exact("stream"), Exact("task.progress"), Exact("uai.task.status.v1 running")),
    row(Act::Output, Exact("event task.output"), Exact("task.output"), Exact("uai.intent.response.v1 partial")),
    row(Act::Block, Exact("event task.blocked"), Exact("task.blocked"), Exact("uai.task.status.v1 blocked")),
    row(Act::Resume, Missing(NEVER), Missing(NEVER), Missing(NEVER)),
    row(Act::Complete, Exact("result"), Exact("task.completed"), Exact("uai.intent.response.v1 completed")),
    row(Act::Fail, Exact("error"), Exact("task.failed"), Exact("uai.task.status.v1 failed")),
    row(Act::CancelRequest, Exact("event task.cancel.requested"), Exact("task.cancel.requested"), Exact("uai.agent.message.v1 notification")),
    row(Act::Cancel, Exact("error E_CANCELLED"), Exact("task.cancelled"), Exact("uai.task.status.v1 cancelled")),
    row(Act::TimeOut, Exact("error E_TIMEOUT"), Exact("task.timed_out"), Exact("uai.task.status.v1 expired")),
    row(Act::Inform, Exact("event"), Exact("agent.message.sent"), Exact("uai.agent.message.v1 inform")),
    row(Act::Query, Exact("task query.requested"), Exact("query.requested"), Exact("uai.agent.message.v1 query")),
    row(Act::Answer, Exact("result query.requested"), Exact("query.response"), Exact("uai.agent.message.v1 response")),
    row(Act::Propose, Missing(PROPOSAL), Missing(PROPOSAL), Exact("uai.agent.memory-proposal.v1")),
    row(Act::Ack, Exact("event event.acknowledged"), Exact("event.acknowledged"), Exact("uai.agent.ack.v1 received")),
    row(Act::Reject, Exact("event event.rejected"), Exact("event.rejected"), Near("uai.agent.ack.v1 deferred", Act::Ack)),
    row(Act::Control, Missing(CONTROL), Missing(CONTROL), Missing(CONTROL)),
];

/// How `dialect` says `act`.
#[must_use]
pub fn word(act: Act, dialect: DialectName) -> Word {
    let row = ROWS.iter().find(|row| row.act == act);
    row.map_or(Missing(NEVER), |row| match dialect {
        DialectName::Aee => row.aee,
        DialectName::Aep => row.aep,
        DialectName::Uai => row.uai,
    })
}

/// Words of AEP that AEE borrows as the intent of an event, for what it has no type for.
#[must_use]
pub fn borrowed(intent: &str) -> Option<Act> {
    ROWS.iter().find_map(|row| match row.aee {
        Exact(word) => (word.strip_prefix("event ")? == intent).then_some(row.act),
        Near(..) | Missing(_) => None,
    })
}

/// The intent of a question whose dialect calls it nothing else.
pub const QUERY_INTENT: &str = "query.requested";
/// The code of an AEE error that refuses the work.
pub const REFUSED: &str = "E_REFUSED";

#[cfg(test)]
mod tests {
    use super::{ROWS, borrowed, word};
    use crate::{Act, DialectName};

    #[test]
    fn every_act_has_its_row() {
        for (act, row) in Act::ALL.into_iter().zip(&ROWS) {
            assert_eq!(act, row.act);
            assert_eq!(word(act, DialectName::Aep), row.aep);
        }
        assert_eq!(borrowed("task.accepted"), Some(Act::Accept));
        assert_eq!(borrowed("task.submitted"), None);
    }
}
