//! Time, silence and partings of a session.

use super::MISSED_MAX;
use super::Machine;
use crate::Code;
use crate::Fault;
use crate::Filter;
use crate::Rejection;
use crate::Timestamp;
use crate::json::push_string;
use crate::session::SessionMove;
use crate::session::parked::Parked;
use crate::session::speech::push_error;
use crate::session::step::Ending;
use crate::session::step::Step;
use crate::session::subscription::DeliveryMode;
use crate::session::subscription::Subscription;
use std::fmt::Write as _;

impl Machine {
    /// The last word of an exchange that goes away, or of one that gives a slow peer up: where every
    /// subscription stands. `refused` is why, when it is an error.
    pub fn farewell(
        &mut self,
        now: Timestamp,
        reason: &str,
        retry_after_ms: Option<u64>,
        refused: Option<&Rejection>,
    ) -> String {
        let mut payload = String::from("{");
        if let Some(session) = &self.session {
            payload.push_str("\"session_id\":");
            push_string(&mut payload, session);
            payload.push(',');
        }
        payload.push_str("\"reason\":");
        push_string(&mut payload, reason);
        if let Some(ms) = retry_after_ms {
            let _ = write!(payload, ",\"retry_after_ms\":{ms}");
        }
        if let Some(refused) = refused {
            payload.push_str(",\"error\":");
            push_error(&mut payload, refused, &[]);
        }
        self.write_places(&mut payload);
        payload.push('}');
        let (kind, step) = match refused {
            Some(_) => ("session.error", SessionMove::Fail),
            None => ("session.closed", SessionMove::Close),
        };
        let text = self.tell(now, kind, &payload);
        if self.session.is_some() {
            self.state = self.state.after(step).unwrap_or(self.state);
        }
        text
    }

    /// The end of the connection: what to keep, for a session that may come back.
    pub fn park(&mut self) -> Option<Parked> {
        let session = self.session.take()?;
        let source = self.source.take()?;
        self.state = self
            .state
            .after(SessionMove::Disconnect)
            .unwrap_or(self.state);
        Some(Parked {
            session,
            source,
            subscriptions: std::mem::take(&mut self.subscriptions)
                .into_values()
                .collect(),
            numbered: self.numbered,
        })
    }

    /// When [`Self::tick`] has something to do at the latest.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        let expiries = self.subscriptions.values().filter_map(|one| one.expires);
        let beat = (self.heartbeat_ms > 0 && self.session.is_some())
            .then(|| self.said_at.plus_millis(self.interval()));
        let silent = self.is_judged.then(|| self.silent_at());
        expiries.chain(beat).chain(silent).min()
    }

    pub(super) fn interval(&self) -> i64 {
        i64::try_from(self.heartbeat_ms).unwrap_or(i64::MAX)
    }

    pub(super) fn silent_at(&self) -> Timestamp {
        self.heard_at
            .plus_millis(self.interval().saturating_mul(MISSED_MAX))
    }

    /// Time has passed: heartbeats, silence, subscriptions whose time is over.
    pub fn tick(&mut self, now: Timestamp) -> Vec<Step> {
        let mut steps = Vec::new();
        let over = |one: &&Subscription| one.expires.is_some_and(|moment| moment <= now);
        let over: Vec<_> = self
            .subscriptions
            .values()
            .filter(over)
            .map(|one| one.id.clone())
            .collect();
        for id in over {
            self.subscriptions.remove(&id);
            let mut payload = String::from("{\"subscription_id\":");
            push_string(&mut payload, &id);
            payload.push('}');
            let text = self.tell(now, "subscription.expired", &payload);
            steps.extend([Step::Unsubscribe(id), Step::Say(text)]);
        }
        let Some(session) = self.session.clone() else {
            return steps;
        };
        if self.is_judged && self.heartbeat_ms > 0 && now >= self.silent_at() {
            steps.extend(self.time_out(now, &session));
        } else if self.heartbeat_ms > 0 && now >= self.said_at.plus_millis(self.interval()) {
            self.said_at = now;
            let mut payload = String::from("{\"session_id\":");
            push_string(&mut payload, &session);
            self.write_places(&mut payload);
            payload.push('}');
            steps.push(Step::Say(self.tell(now, "session.heartbeat", &payload)));
        }
        steps
    }

    /// `session.error` of a session whose peer is silent. It can come back.
    pub(super) fn time_out(&mut self, now: Timestamp, session: &str) -> Vec<Step> {
        let detail = format!(
            "expected a sign of life within {} ms, got none",
            self.interval().saturating_mul(MISSED_MAX)
        );
        let refused = Fault::new(Code::SessionTimeout, "", "AEP 3.4", detail).into();
        let mut payload = String::from("{\"session_id\":");
        push_string(&mut payload, session);
        payload.push_str(",\"error\":");
        let heard = format!("\"{}\"", self.heard_at);
        push_error(&mut payload, &refused, &[("last_heartbeat_at", &heard)]);
        payload.push('}');
        let text = self.tell(now, "session.error", &payload);
        self.state = self.state.after(SessionMove::Fail).unwrap_or(self.state);
        // Kept for `park`: a peer that was only cut off may resume.
        self.heartbeat_ms = 0;
        self.is_judged = false;
        vec![Step::Say(text), Step::End(Ending::Silent)]
    }

    /// `,"subscriptions":[{"subscription_id","filter","delivery_mode","cursor"}]`
    pub(super) fn write_places(&self, out: &mut String) {
        out.push_str(",\"subscriptions\":[");
        for (at, subscription) in self.subscriptions.values().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str("{\"subscription_id\":");
            push_string(out, &subscription.id);
            let mode = subscription.mode.as_str();
            let _ = write!(
                out,
                ",\"delivery_mode\":\"{mode}\",\"filter\":{}",
                subscription.asked
            );
            if let Some(cursor) = subscription.cursor() {
                out.push_str(",\"cursor\":");
                push_string(out, cursor);
            }
            out.push('}');
        }
        out.push(']');
    }

    /// A subscription that outlived its process, under the id it had.
    #[must_use]
    pub fn recalled(id: &str, filter: Filter) -> Subscription {
        Subscription {
            id: id.into(),
            asked: filter.to_json().into(),
            filter,
            mode: DeliveryMode::AtLeastOnce,
            from: None,
            expires: None,
            start: None,
            sent: None,
            acknowledged: None,
            is_resumed: true,
        }
    }
}
