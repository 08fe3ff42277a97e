//! UAI-1: one handoff to two workers, each acknowledges and reports for itself.

use super::{Message, Role, Step, conversation, messages};
use crate::compose::agent;
use crate::demo::reply::{Mark, mark};
use crate::failure::Failure;
use client::{Client, Filter};
use protocol::dialect::uai::build::{Ack, Agent, Envelope, FinalReport, Handoff, Heading};
use protocol::{Party, Timestamp};

/// The manager's handoff to both workers.
pub fn opening(conversation: &str, now: Timestamp) -> Result<String, Failure> {
    let mark = mark(Role::Manager, "handoff", conversation, now, 0);
    let mut handoff = Handoff::new(
        "task_42",
        "Process dataset X in two halves.",
        "parallelization",
        "Process your partition.",
    );
    handoff.scope = vec!["dataset.x:read".into()];
    let heading = heading(&mark, Role::Manager, itself(Role::Worker1), conversation);
    write(&handoff.envelope(heading).also_to(itself(Role::Worker2)))
}

/// What each role answers.
pub fn answer(role: Role, message: &Message) -> Result<Vec<Step>, Failure> {
    match (role, &*message.header.kind) {
        (Role::Worker1 | Role::Worker2, "uai.agent.handoff.v1") => work(role, message),
        _ => Ok(Vec::new()),
    }
}

/// The reports that are missing on handoffs which the worker has accepted: an acknowledgement takes
/// the work over, so nobody else reminds it. The journal is the memory.
pub async fn resume(role: Role, client: &Client) -> Result<Vec<Step>, Failure> {
    let own = Filter::new()
        .with("source", role.party())
        .with("type", "uai.agent.ack.v1");
    let mut steps = Vec::new();
    for ack in messages(client, &own).await? {
        let id = ack.header.conversation.as_deref().unwrap_or_default();
        let all = conversation(client, id).await?;
        let is_done = |handoff: &Message| {
            all.iter().any(|one| {
                &*one.header.kind == "uai.agent.final-report.v1"
                    && one.header.sender.as_str() == role.party()
                    && one.header.cause.as_deref() == Some(&*handoff.header.id)
            })
        };
        let mut accepted = all
            .iter()
            .filter(|one| ack.header.cause.as_deref() == Some(&*one.header.id));
        if let Some(handoff) = accepted.next().filter(|handoff| !is_done(handoff)) {
            steps.extend(work(role, handoff)?.into_iter().skip(1));
        }
    }
    Ok(steps)
}

pub fn work(role: Role, handoff: &Message) -> Result<Vec<Step>, Failure> {
    let header = &handoff.header;
    let conversation = header.conversation.as_deref().unwrap_or_default();
    let correlation = header.correlation.as_deref().unwrap_or(conversation);
    let task = header.task.as_deref().unwrap_or_default();
    let accepted = mark(role, "ack", &header.id, handoff.at(), 10);
    let ack = Ack::new(&header.id, "accepted", accepted.at)
        .envelope(heading(
            &accepted,
            role,
            agent(&header.sender),
            conversation,
        ))
        .correlation(correlation);
    let reported = mark(role, "report", &header.id, handoff.at(), 500);
    let evidence = format!(
        "https://store.example/{task}/{}.json",
        Party::parse(role.party()).name()
    );
    let report = FinalReport::new(
        task,
        "completed",
        "All partitions were read and checked.",
        &evidence,
    )
    .envelope(heading(
        &reported,
        role,
        agent(&header.sender),
        conversation,
    ))
    .reply_to(&header.id)
    .correlation(correlation);
    Ok(vec![
        Step {
            work_ms: 100,
            envelope: write(&ack)?,
        },
        Step {
            work_ms: 300,
            envelope: write(&report)?,
        },
    ])
}

fn heading(mark: &Mark, source: Role, target: Agent, conversation: &str) -> Heading {
    Heading {
        id: format!("msg_{}", mark.ulid),
        issued_at: mark.at,
        source: itself(source),
        target,
        conversation: conversation.into(),
    }
}

fn itself(role: Role) -> Agent {
    agent(&Party::parse(role.party()))
}

fn write(envelope: &Envelope) -> Result<String, Failure> {
    envelope
        .write()
        .map_err(|fault| Failure::Refused(fault.to_string()))
}
