use super::{Amount, Facts, Flow, Move, Open, Spend, Stats};
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
fn costs_are_subtracted_exactly_and_only_when_the_event_is_accepted() {
    let mut flow = Flow::default();
    flow.set_budget(Some("t"), 1.0);
    for _ in 0..10 {
        assert_eq!(flow.spend("t", 0.1), Ok(()));
    }
    assert_eq!(flow.remaining("t", "b"), Some(Amount::default()));
    assert_eq!(flow.spend("t", 1e-9), Err(Code::BudgetExceeded));
    flow.step(Move::CommandOpen("c".into())).unwrap();
    let refused = Facts {
        step: Move::CommandOpen("c".into()),
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
        Code::InvalidCommand
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
    let open = |id: &str| Move::CommandOpen(id.into());
    flow.step(open(&one)).unwrap();
    flow.step(open(&two)).unwrap();
    let forged = super::key(&one).to_string();
    assert!(forged.len() < super::KEY_BYTES_MAX);
    assert_eq!(flow.step(open(&forged)), Ok(()));
    assert_eq!(
        flow.step(open(&one)).unwrap_err().code,
        Code::InvalidCommand
    );
}
