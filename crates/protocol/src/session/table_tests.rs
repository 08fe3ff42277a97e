//! The table of states.

use super::SessionMove::{Close, Disconnect, Fail, Open, Ready};
use super::SessionState;

fn walk(steps: &[super::SessionMove]) -> Option<SessionState> {
    steps
        .iter()
        .try_fold(SessionState::Created, |state, step| state.after(*step))
}

#[test]
fn a_session_is_opened_then_ready_then_closed() {
    assert_eq!(walk(&[Open, Ready]), Some(SessionState::Ready));
    assert_eq!(walk(&[Open, Ready, Close]), Some(SessionState::Closed));
    assert_eq!(walk(&[Open, Ready, Fail]), Some(SessionState::Error));
    assert_eq!(walk(&[Disconnect]), Some(SessionState::Closed));
}

#[test]
fn no_step_is_skipped_and_nothing_follows_the_end() {
    for steps in [
        &[Ready][..],
        &[Close],
        &[Open, Open],
        &[Open, Ready, Ready],
        &[Open, Close, Open],
        &[Open, Fail, Close],
        &[Open, Ready, Close, Disconnect],
    ] {
        assert_eq!(walk(steps), None, "{steps:?}");
    }
}
