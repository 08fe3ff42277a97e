//! The progress that a server reports, kept for the calls it is about: only the newest of each.

use parking_lot::Mutex;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use std::collections::HashMap;
use tokio::sync::watch;

/// What is reported of one call.
pub(super) type Newest = watch::Receiver<Option<ProgressNotificationParam>>;

/// Calls that progress is kept for. A server that makes up tokens of its own gets no further.
const KEPT_MAX: usize = 4_096;

/// Progress by call. The first report may come before the call knows its token.
#[derive(Debug, Default)]
pub(super) struct Reports {
    kept: Mutex<HashMap<ProgressToken, watch::Sender<Option<ProgressNotificationParam>>>>,
}

impl Reports {
    pub(super) fn report(&self, progress: ProgressNotificationParam) {
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_MAX && !kept.contains_key(&progress.progress_token) {
            return;
        }
        let token = progress.progress_token.clone();
        let sender = kept.entry(token).or_insert_with(|| watch::channel(None).0);
        sender.send_replace(Some(progress));
    }

    pub(super) fn of(&self, token: &ProgressToken) -> Newest {
        let mut kept = self.kept.lock();
        let sender = kept
            .entry(token.clone())
            .or_insert_with(|| watch::channel(None).0);
        let mut newest = sender.subscribe();
        // What came before counts as news.
        newest.mark_changed();
        newest
    }

    pub(super) fn forget(&self, token: &ProgressToken) {
        self.kept.lock().remove(token);
    }
}

#[cfg(test)]
mod tests {
    use super::Reports;
    use rmcp::model::{NumberOrString, ProgressNotificationParam, ProgressToken};

    #[test]
    fn a_report_that_comes_before_its_call_is_listened_to_is_not_lost() {
        let reports = Reports::default();
        let token = ProgressToken(NumberOrString::Number(1));
        reports.report(ProgressNotificationParam::new(token.clone(), 0.25));
        let mut newest = reports.of(&token);
        assert!(newest.has_changed().unwrap());
        assert_eq!(newest.borrow_and_update().as_ref().unwrap().progress, 0.25);
        reports.forget(&token);
        assert!(newest.has_changed().is_err());
    }
}
