use super::{Amount, Facts, Flow, Move, Open, Spend, Stats};
use crate::TaskState::{self, Cancelled, Completed, Failed, Progress, Started, TimedOut};
use crate::{Code, Fault};

fn facts(step: Move) -> Facts {
    Facts {
        step,
        spend: None,
        is_tracked: false,
    }
}

impl Flow {
    fn step(&mut self, step: Move) -> Result<(), Fault> {
        self.accept("evt", &facts(step))
    }

    fn submit(&mut self, task: &str, parent: Option<&str>) -> Result<(), Fault> {
        self.step(Move::Submit {
            task: task.into(),
            parent: parent.map(Into::into),
        })
    }

    fn report(&mut self, task: &str, state: TaskState) -> Result<(), Code> {
        let task = task.into();
        self.step(Move::Become { task, state })
            .map_err(|fault| fault.code)
    }

    fn set_budget(&mut self, tenant: Option<&str>, limit: f64) {
        let step = Move::BudgetSet {
            tenant: tenant.map(Into::into),
            budget: "b".into(),
            limit: Amount::from_units(limit),
        };
        self.step(step).unwrap();
    }

    fn spend(&mut self, tenant: &str, cost: f64) -> Result<(), Code> {
        let spend = Spend {
            tenant: tenant.into(),
            budget: "b".into(),
            cost: Amount::from_units(cost),
        };
        let facts = Facts {
            step: Move::Nothing,
            spend: Some(spend),
            is_tracked: false,
        };
        self.accept("evt", &facts).map_err(|fault| fault.code)
    }
}

#[test]
fn a_submitted_task_is_accepted_and_its_id_is_free_again_after_the_end() {
    let mut flow = Flow::default();
    flow.submit("t", None).unwrap();
    assert_eq!(flow.task_state("t"), Some(TaskState::Accepted));
    assert_eq!(
        flow.submit("t", None).unwrap_err().code,
        Code::DuplicateTask
    );
    assert_eq!(flow.report("t", TaskState::Accepted), Ok(()));
    assert_eq!(flow.report("t", Started), Ok(()));
    assert_eq!(flow.report("t", Completed), Ok(()));
    assert_eq!(flow.report("t", Failed), Err(Code::UnknownTask));
    assert_eq!(flow.submit("t", None), Ok(()));
}

#[test]
fn an_illegal_move_names_the_state_and_changes_nothing() {
    let mut flow = Flow::default();
    flow.submit("t", None).unwrap();
    let fault = flow
        .step(Move::Become {
            task: "t".into(),
            state: Completed,
        })
        .unwrap_err();
    assert_eq!(fault.code, Code::IllegalTransition);
    assert!(fault.detail.contains("which is accepted"), "{fault}");
    assert!(fault.detail.ends_with("got completed"), "{fault}");
    assert_eq!(flow.task_state("t"), Some(TaskState::Accepted));
}

#[test]
fn asking_for_a_cancellation_needs_an_open_task_and_moves_nothing() {
    let mut flow = Flow::default();
    let ask = || Move::CancelRequest { task: "t".into() };
    assert_eq!(flow.step(ask()).unwrap_err().code, Code::UnknownTask);
    flow.submit("t", None).unwrap();
    assert_eq!(flow.step(ask()), Ok(()));
    assert_eq!(flow.task_state("t"), Some(TaskState::Accepted));
}

#[test]
fn a_parent_may_only_end_before_its_children_by_being_cancelled() {
    let mut flow = Flow::default();
    flow.submit("p", None).unwrap();
    flow.report("p", Started).unwrap();
    flow.submit("c", Some("p")).unwrap();
    for end in [Completed, Failed, TimedOut] {
        assert_eq!(flow.report("p", end), Err(Code::ChildTasksOpen));
    }
    flow.report("c", Failed).unwrap();
    assert_eq!(flow.report("p", Completed), Ok(()));
}

#[test]
fn a_cancelled_parent_takes_the_whole_tree_and_each_child_reports_it_once() {
    let mut flow = Flow::default();
    flow.submit("p", None).unwrap();
    flow.submit("c", Some("p")).unwrap();
    flow.submit("g", Some("c")).unwrap();
    flow.submit("other", None).unwrap();
    flow.report("p", Cancelled).unwrap();
    assert_eq!(flow.open().tasks, 1);
    assert_eq!(flow.report("g", Completed), Err(Code::IllegalTransition));
    assert_eq!(flow.report("g", Cancelled), Ok(()));
    assert_eq!(flow.report("g", Cancelled), Err(Code::UnknownTask));
    assert_eq!(flow.report("c", Cancelled), Ok(()));
    assert_eq!(flow.report("p", Cancelled), Err(Code::UnknownTask));
}

#[test]
fn a_cancelled_child_id_can_be_submitted_again_and_is_then_an_ordinary_task() {
    let mut flow = Flow::default();
    flow.submit("p", None).unwrap();
    flow.submit("c", Some("p")).unwrap();
    flow.report("p", Cancelled).unwrap();
    flow.submit("c", None).unwrap();
    assert_eq!(flow.report("c", Progress), Err(Code::IllegalTransition));
    assert_eq!(flow.report("c", Cancelled), Ok(()));
    assert_eq!(flow.report("c", Cancelled), Err(Code::UnknownTask));
}

#[test]
fn a_task_that_names_itself_or_a_stranger_as_parent_can_still_end() {
    let mut flow = Flow::default();
    flow.submit("t", Some("t")).unwrap();
    flow.submit("u", Some("never seen")).unwrap();
    for task in ["t", "u"] {
        flow.report(task, Started).unwrap();
        assert_eq!(flow.report(task, Completed), Ok(()));
    }
}

#[test]
fn a_full_flow_forgets_the_oldest_task_and_lets_its_parent_end() {
    let mut flow = Flow::bounded(3);
    flow.submit("old parent", None).unwrap();
    flow.submit("p", None).unwrap();
    flow.report("p", Started).unwrap();
    flow.submit("c", Some("p")).unwrap();
    flow.submit("x", Some("old parent")).unwrap();
    assert_eq!(flow.open().tasks, 3);
    assert_eq!(flow.report("old parent", Failed), Err(Code::UnknownTask));
    assert_eq!(flow.report("p", Completed), Err(Code::ChildTasksOpen));
    flow.submit("y", None).unwrap();
    flow.submit("z", None).unwrap();
    assert_eq!(flow.task_state("p"), None);
    assert_eq!(flow.task_state("c"), None);
}

#[test]
fn costs_are_subtracted_exactly_and_only_when_the_event_is_accepted() {
    let mut flow = Flow::default();
    flow.set_budget(Some("t"), 1.0);
    for _ in 0..10 {
        assert_eq!(flow.spend("t", 0.1), Ok(()));
    }
    assert_eq!(flow.remaining("t", "b"), Some(Amount::default()));
    assert_eq!(flow.spend("t", 1e-9), Err(Code::BudgetExceeded));
    let refused = Facts {
        step: Move::CancelRequest {
            task: "none".into(),
        },
        spend: Some(Spend {
            tenant: "t".into(),
            budget: "b".into(),
            cost: Amount::from_units(2.0),
        }),
        is_tracked: true,
    };
    flow.set_budget(Some("t"), 4.0);
    assert_eq!(
        flow.accept("e", &refused).unwrap_err().code,
        Code::UnknownTask
    );
    assert_eq!(flow.remaining("t", "b"), Some(Amount::from_units(3.0)));
    assert_eq!(flow.stats(), Stats::default());
}

#[test]
fn budgets_are_apart_by_tenant_and_unknown_ones_are_empty() {
    let mut flow = Flow::default();
    flow.set_budget(Some("a"), 5.0);
    assert_eq!(flow.spend("b", 1.0), Err(Code::BudgetExceeded));
    flow.set_budget(None, 1.0);
    assert_eq!(flow.spend("b", 1.0), Ok(()));
    assert_eq!(flow.spend("b", 1.0), Err(Code::BudgetExceeded));
    assert_eq!(flow.spend("a", 5.0), Ok(()));
}

#[test]
fn amounts_read_as_units() {
    assert_eq!(Amount::from_units(50.0).to_string(), "50");
    assert_eq!(Amount::from_units(0.25).to_string(), "0.25");
    assert_eq!(Amount::from_units(-3.0), Amount::default());
    assert!(Amount::from_units(f64::INFINITY) > Amount::from_units(1e30));
}

#[test]
fn an_open_command_keeps_its_correlation_id() {
    let mut flow = Flow::default();
    let open = || Move::CommandOpen("c".into());
    flow.step(open()).unwrap();
    assert_eq!(flow.step(open()).unwrap_err().code, Code::InvalidCommand);
    flow.step(Move::CommandClose("c".into())).unwrap();
    flow.step(Move::CommandClose("c".into())).unwrap();
    assert_eq!(flow.step(open()), Ok(()));
}

#[test]
fn a_query_may_be_asked_again_and_one_answer_closes_it() {
    let mut flow = Flow::default();
    flow.step(Move::QueryOpen("q".into())).unwrap();
    flow.step(Move::QueryOpen("q".into())).unwrap();
    assert_eq!(
        flow.open(),
        Open {
            queries: 1,
            ..Open::default()
        }
    );
    flow.step(Move::QueryClose("q".into())).unwrap();
    assert_eq!(flow.open(), Open::default());
}

#[test]
fn deliveries_are_settled_once_and_strange_ids_move_no_counter() {
    let mut flow = Flow::default();
    for id in ["a", "b", "c"] {
        let tracked = Facts {
            step: Move::Nothing,
            spend: None,
            is_tracked: true,
        };
        flow.accept(id, &tracked).unwrap();
    }
    flow.step(Move::Redelivered("a".into())).unwrap();
    for _ in 0..2 {
        flow.step(Move::Acknowledged("b".into())).unwrap();
        flow.step(Move::DeadLettered("c".into())).unwrap();
        flow.step(Move::DeadLettered("b".into())).unwrap();
        flow.step(Move::Redelivered("strange".into())).unwrap();
    }
    assert_eq!(flow.attempts("a"), Some(2));
    assert_eq!(
        flow.stats(),
        Stats {
            total_sequences: 3,
            pending: 1,
            acknowledged: 1,
            dead_lettered: 1,
            last_acknowledged: 2
        }
    );
}

#[test]
fn long_ids_are_kept_apart_and_cannot_be_written_as_their_digest() {
    let mut flow = Flow::default();
    let (one, two) = ("x".repeat(200), format!("{}y", "x".repeat(199)));
    flow.submit(&one, None).unwrap();
    flow.submit(&two, None).unwrap();
    let forged = super::key(&one).to_string();
    assert!(forged.len() < super::KEY_BYTES_MAX);
    assert_eq!(flow.report(&forged, Failed), Err(Code::UnknownTask));
    assert_eq!(flow.report(&one, Failed), Ok(()));
}
