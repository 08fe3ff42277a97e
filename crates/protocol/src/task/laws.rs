//! Laws of the machine, against a model as plain as the rules.

use super::TaskState::{
    self, Accepted, Blocked, Cancelled, Completed, Failed, Output, Progress, Started, Submitted,
    TimedOut,
};
use super::{Limits, Opening, Step, Tasks, Terms, history};
use crate::DialectName::{self, Aee, Aep, Uai};
use crate::wire::Reader;
use crate::{Act, Digest, Header, Intake, Party, Priority, Timestamp};
use proptest::prelude::*;
use std::collections::BTreeMap;

const WORKERS: [&str; 3] = ["agent:w0", "agent:w1", "agent:w2"];

/// One act of somebody in some dialect.
#[derive(Clone, Debug)]
enum Doing {
    /// Opens a task for the first so many workers.
    Open(DialectName, usize),
    /// A worker's report.
    Report(DialectName, usize, TaskState),
    /// The requester's report.
    Decide(DialectName, TaskState),
    /// A request to cancel.
    Cancel(DialectName),
}

fn header(n: u64, task: u8, doing: &Doing) -> Header {
    let (dialect, sender, recipients, step) = match doing {
        Doing::Open(dialect, count) => {
            let opening = match dialect {
                Aep => Opening::Submission,
                Aee | Uai => Opening::Handoff,
            };
            let terms = Box::new(Terms::new(opening));
            (*dialect, "agent:a", &WORKERS[..*count], Step::Open(terms))
        }
        Doing::Report(dialect, worker, state) => (
            *dialect,
            WORKERS[*worker],
            &["agent:a"][..],
            Step::Report(*state),
        ),
        Doing::Decide(dialect, state) => (*dialect, "agent:a", &WORKERS[..1], Step::Report(*state)),
        Doing::Cancel(dialect) => (*dialect, "agent:a", &WORKERS[..1], Step::RequestCancel),
    };
    let id: Box<str> = format!("m{n}").into();
    Header {
        dialect,
        idempotency_key: None,
        origin: None,
        id,
        sender: Party::parse(sender),
        act: Act::Inform,
        kind: "x".into(),
        recipients: recipients.iter().map(|text| Party::parse(text)).collect(),
        topics: Vec::new(),
        conversation: None,
        correlation: None,
        cause: None,
        task: Some(format!("t{task}").into()),
        session: None,
        intent: None,
        priority: Priority::Normal,
        deadline: None,
        retry: None,
        settles: None,
        intake: Intake::Work,
        replay_of: None,
        step: Some(step),
        flow: None,
        coordination: None,
        fingerprint: Digest([0; 32]),
    }
}

/// What the rules say, with nothing but lists.
#[derive(Default)]
struct Model(BTreeMap<u8, Vec<(String, TaskState)>>);

fn is_end(state: TaskState) -> bool {
    [Completed, Failed, Cancelled, TimedOut].contains(&state)
}

fn is_legal(dialect: DialectName, from: TaskState, to: TaskState) -> bool {
    let always = is_end(to) && to != Completed;
    let aep: &[TaskState] = match from {
        Submitted => &[Accepted, Started],
        Accepted => &[Started],
        Blocked => &[Started, Progress],
        Started | Progress | Output => &[Blocked, Progress, Output, Completed],
        Completed | Failed | Cancelled | TimedOut => return false,
    };
    let work = [Started, Blocked, Progress, Output, Completed].contains(&to);
    always || from == to || aep.contains(&to) || (dialect != Aep && work)
}

impl Model {
    fn state(&self, task: u8) -> Option<TaskState> {
        let parts = self.0.get(&task)?;
        let open = parts
            .iter()
            .map(|(_, state)| *state)
            .filter(|state| !is_end(*state));
        open.min().or_else(|| {
            let worst = [Failed, TimedOut, Cancelled, Completed];
            worst
                .into_iter()
                .find(|end| parts.iter().any(|(_, state)| state == end))
        })
    }

    fn accept(&mut self, task: u8, doing: &Doing) -> bool {
        let ended = self.state(task).is_some_and(is_end);
        let (dialect, sender, state) = match doing {
            Doing::Open(dialect, count) => {
                let known = self.0.contains_key(&task);
                if known && (*dialect == Aep || ended) {
                    return false;
                }
                let parts = self.0.entry(task).or_default();
                for worker in &WORKERS[..*count] {
                    if !parts.iter().any(|(party, _)| party == worker) {
                        parts.push(((*worker).into(), Submitted));
                    }
                }
                return true;
            }
            Doing::Cancel(dialect) => {
                return !ended && (self.0.contains_key(&task) || *dialect != Aep);
            }
            Doing::Report(dialect, worker, state) => (*dialect, WORKERS[*worker], *state),
            Doing::Decide(dialect, state) => (*dialect, "agent:a", *state),
        };
        let Some(parts) = self.0.get_mut(&task) else {
            return dialect != Aep;
        };
        if ended {
            return false;
        }
        let only = parts.len() == 1;
        let is_meant = |(party, part): &(String, TaskState)| {
            party == sender || ((only || sender == "agent:a") && !is_end(*part))
        };
        let meant: Vec<usize> = (0..parts.len())
            .filter(|at| is_meant(&parts[*at]))
            .collect();
        if meant.is_empty() {
            return true;
        }
        let may = |at: &usize| is_legal(dialect, parts[*at].1, state);
        let legal = if is_end(state) {
            meant.iter().all(may)
        } else {
            meant.iter().any(may)
        };
        if !legal {
            // A late acceptance is nothing new.
            return state == Accepted
                && dialect != Aep
                && !meant.iter().any(|at| is_end(parts[*at].1));
        }
        let moving: Vec<usize> = meant.into_iter().filter(may).collect();
        moving.into_iter().for_each(|at| parts[at].1 = state);
        true
    }
}

fn states() -> impl Strategy<Value = TaskState> {
    proptest::sample::select(TaskState::ALL[1..].to_vec())
}

fn dialects() -> impl Strategy<Value = DialectName> {
    proptest::sample::select(vec![Aee, Aep, Uai])
}

fn doing() -> impl Strategy<Value = Doing> {
    prop_oneof![
        3 => (dialects(), 1..3_usize).prop_map(|(dialect, count)| {
            Doing::Open(dialect, if dialect == Uai { count } else { 1 })
        }),
        8 => (dialects(), 0..3_usize, states()).prop_map(|(d, w, s)| Doing::Report(d, w, s)),
        1 => (dialects(), states()).prop_map(|(d, s)| Doing::Decide(d, s)),
        1 => dialects().prop_map(Doing::Cancel),
    ]
}

/// The same tasks, out of their bytes.
fn restored(tasks: &Tasks, limits: Limits) -> Tasks {
    let encode = |tasks: &Tasks| {
        let mut bytes = Vec::new();
        tasks.encode(&mut bytes);
        bytes
    };
    let bytes = encode(tasks);
    let mut reader = Reader::new(&bytes);
    let restored = Tasks::decode(&mut reader, limits).unwrap();
    assert_eq!(reader.end(), Ok(()));
    assert!(encode(&restored) == bytes, "equal states have equal bytes");
    restored
}

/// The envelopes of one task that were accepted.
fn rows<'h>(
    journal: &'h [(u64, Header)],
    id: &str,
) -> impl Iterator<Item = (Timestamp, u64, &'h Header)> {
    let of_it = move |(_, header): &&(u64, Header)| header.task.as_deref() == Some(id);
    let rows: Vec<_> = journal.iter().filter(of_it).collect();
    rows.into_iter()
        .map(|(n, header)| (Timestamp::from_millis(0), *n, header))
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_of_tasks_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..200), at in any::<usize>(), doings in proptest::collection::vec((0..4_u8, doing()), 0..20)
    ) {
        drop(Tasks::decode(&mut Reader::new(&noise), Limits::default()));
        let mut tasks = Tasks::default();
        for (n, (task, doing)) in (1..).zip(doings) {
            drop(tasks.accept(Timestamp::from_millis(0), n, &header(n, task, &doing)));
        }
        let mut bytes = Vec::new();
        tasks.encode(&mut bytes);
        let at = at % bytes.len();
        for (place, byte) in bytes.iter_mut().skip(at).zip(&noise).take(3) {
            *place = *byte;
        }
        if let Ok(mut damaged) = Tasks::decode(&mut Reader::new(&bytes), Limits::default()) {
            for n in 1..9 {
                let doing = Doing::Report(Aep, 0, Failed);
                drop(damaged.accept(Timestamp::from_millis(0), 1_000 + n, &header(n, 1, &doing)));
            }
        }
    }

    #[test]
    fn any_order_of_acts_from_any_dialect_moves_as_the_model_says_and_ends_once(
        doings in proptest::collection::vec((0..4_u8, doing()), 0..120)
    ) {
        let roomy = Limits { open_max: 1_000, finished_max: 1_000 };
        let tight = Limits { open_max: 1, finished_max: 1 };
        let (mut tasks, mut small) = (Tasks::bounded(roomy), Tasks::bounded(tight));
        let mut model = Model::default();
        let mut journal: Vec<(u64, Header)> = Vec::new();
        let mut ended: BTreeMap<u8, TaskState> = BTreeMap::new();
        let at = Timestamp::from_millis(0);
        for (n, (task, doing)) in (1..).zip(doings) {
            if n % 64 == 0 {
                // A restart in between changes nothing.
                (tasks, small) = (restored(&tasks, roomy), restored(&small, tight));
            }
            let header = header(n, task, &doing);
            let answer = tasks.accept(at, n, &header);
            let expected = model.accept(task, &doing);
            prop_assert_eq!(answer.is_ok(), expected, "t{} {:?} -> {:?}", task, doing, answer);
            for missing in small.missing(&header) {
                let other = small.recall(&missing, rows(&journal, &missing));
                prop_assert_eq!(other, None);
            }
            prop_assert_eq!(small.accept(at, n, &header).is_ok(), expected, "the small one");
            prop_assert!(small.open_count() <= 1 && small.finished_count() <= 1);
            if expected {
                journal.push((n, header));
            }
            let id = format!("t{task}");
            let state = tasks.get(&id).map(|view| view.state);
            prop_assert_eq!(state, model.state(task));
            if let Some(end) = ended.get(&task) {
                prop_assert_eq!(state, Some(*end), "a second end");
            } else if let Some(state) = state.filter(|state| is_end(*state)) {
                ended.insert(task, state);
            }
        }
        let mut rebuilt = Tasks::bounded(roomy);
        for (n, header) in &journal {
            prop_assert!(rebuilt.accept(at, *n, header).is_ok());
        }
        for task in 0..4_u8 {
            let id = format!("t{task}");
            let live = tasks.get(&id);
            prop_assert_eq!(&rebuilt.get(&id), &live);
            let alone = history(&id, rows(&journal, &id));
            prop_assert_eq!(alone.as_ref().map(|history| &history.view), live.as_ref());
            if small.is_missing(&id) {
                prop_assert_eq!(small.recall(&id, rows(&journal, &id)), None);
            }
            prop_assert_eq!(&small.get(&id), &live);
            if let Some(history) = alone {
                let ends = history.lines.iter().filter(|line| is_end(line.state)).count();
                prop_assert_eq!(ends, usize::from(ended.contains_key(&task)));
            }
        }
    }
}
