//! Subscriptions of a session: asked for, refused, and what is told about them.

use super::Machine;
use crate::Code;
use crate::Fault;
use crate::Header;
use crate::Rejection;
use crate::Timestamp;
use crate::json::Value;
use crate::json::push_string;
use crate::session::about::About;
use crate::session::speech::push_error;
use crate::session::step::Accepted;
use crate::session::step::Step;
use crate::session::subscription::DeliveryMode;
use crate::session::subscription::Place;
use crate::session::subscription::Subscription;
use std::fmt::Write as _;

impl Machine {
    pub(super) fn subscribe(
        &mut self,
        now: Timestamp,
        about: About,
        header: &Header,
        document: Value<'_>,
    ) -> Vec<Step> {
        let number = self.numbered.saturating_add(1);
        let id: Box<str> = format!("sub_{number:04}").into();
        let Some(payload) = document.get("payload") else {
            return Vec::new();
        };
        let mut subscription = match Subscription::read(id.clone(), payload) {
            Ok(subscription) => subscription,
            Err(refused) => return vec![Step::Say(self.voice.refuse(now, &about, &refused))],
        };
        if subscription.expires.is_some_and(|moment| moment <= now) {
            let detail = "expected a moment to come, got one that has passed";
            let at = "/payload/expires_at";
            let fault = Fault::new(Code::SubscriptionRejected, at, "AEP 4.3", detail);
            return vec![self.refuse(now, &about, fault)];
        }
        let same = self.subscriptions.values_mut();
        let mut same = same.filter(|known| known.is_resumed && known.is_same(&subscription));
        let mut steps = Vec::new();
        if let Some(known) = same.next() {
            // It came back with its session; who asks again, as the binding has it, gets no second one.
            known.is_resumed = false;
            subscription.id = known.id.clone();
            subscription.start.clone_from(&known.start);
            subscription.acknowledged.clone_from(&known.acknowledged);
            subscription.sent.clone_from(&known.sent);
            if subscription.from.is_none() {
                let known = known.clone();
                let payload = created(now, &known);
                let kind = "subscription.created";
                return vec![Step::Say(self.voice.answer(now, kind, &about, &payload))];
            }
        } else if self.subscriptions.len() >= self.subscriptions_max {
            let max = self.subscriptions_max;
            let detail = format!("expected at most {max} subscriptions in a session, got one more");
            let fault = Fault::new(Code::Overloaded, "", "ARCHITECTURE limits", detail);
            return vec![self.refuse(now, &about, fault)];
        } else {
            self.numbered = number;
        }
        self.subscriptions
            .insert(subscription.id.clone(), subscription.clone());
        steps.push(Step::Subscribe {
            about: Some(about),
            subscription: Box::new(subscription),
        });
        self.attach(header.sender.clone(), false, &mut steps);
        steps
    }

    /// A subscription has its place; the answer to its request.
    pub fn subscribed(
        &mut self,
        now: Timestamp,
        about: Option<&About>,
        id: &str,
        start: Place,
    ) -> Option<String> {
        let subscription = self.subscriptions.get_mut(id)?;
        subscription.start.get_or_insert_with(|| start.clone());
        subscription.sent = Some(start);
        let payload = created(now, subscription);
        let about = about?;
        Some(
            self.voice
                .answer(now, "subscription.created", about, &payload),
        )
    }

    /// A subscription could not begin, or not go on.
    pub fn refused(
        &mut self,
        now: Timestamp,
        about: Option<&About>,
        id: &str,
        refused: &Rejection,
    ) -> String {
        let lost = self.subscriptions.remove(id);
        let mut payload = String::from("{\"subscription_id\":");
        push_string(&mut payload, id);
        if let Some(lost) = lost {
            payload.push_str(",\"filter\":");
            payload.push_str(&lost.asked);
        }
        payload.push_str(",\"error\":");
        push_error(&mut payload, refused, &[]);
        payload.push('}');
        self.about_subscription(now, about, "subscription.rejected", &payload)
    }

    pub(super) fn about_subscription(
        &mut self,
        now: Timestamp,
        about: Option<&About>,
        kind: &str,
        payload: &str,
    ) -> String {
        match about {
            Some(about) => self.voice.answer(now, kind, about, payload),
            None => {
                let (session, source) = (self.session.as_deref(), self.source.as_deref());
                self.voice.tell(now, kind, session, source, payload)
            }
        }
    }

    /// Everything of a subscription up to there was sent.
    pub fn sent(&mut self, id: &str, place: Place) {
        if let Some(subscription) = self.subscriptions.get_mut(id) {
            subscription.sent = Some(place);
        }
    }

    /// An event at that place was acknowledged: replays begin behind it.
    pub fn acknowledged(&mut self, place: &Place) {
        for subscription in self.subscriptions.values_mut() {
            let reached = subscription.acknowledged.as_ref().map(|at| at.sequence);
            if subscription.mode == DeliveryMode::Replayable
                && reached.is_none_or(|at| at < place.sequence)
            {
                subscription.acknowledged = Some(place.clone());
            }
        }
    }

    /// The answer to a publish.
    pub fn published(
        &mut self,
        now: Timestamp,
        about: &About,
        result: Result<Accepted<'_>, &Rejection>,
    ) -> String {
        match result {
            Ok(accepted) => self.voice.acknowledge(now, about, Some(accepted)),
            Err(refused) => self.voice.refuse(now, about, refused),
        }
    }

    /// `event.redelivered`: what follows was handed out before.
    pub fn redelivered(&mut self, now: Timestamp, event: &str, attempt: u32) -> String {
        let mut payload = String::from("{\"original_event_id\":");
        push_string(&mut payload, event);
        let _ = write!(payload, ",\"attempt\":{attempt}}}");
        self.tell(now, "event.redelivered", &payload)
    }

    /// `event.replayed`: the past of a subscription has been sent, the present follows.
    pub fn replayed(
        &mut self,
        now: Timestamp,
        id: &str,
        from: &str,
        to: &str,
        count: u64,
    ) -> String {
        let mut payload = String::from("{\"subscription_id\":");
        push_string(&mut payload, id);
        payload.push_str(",\"from_cursor\":");
        push_string(&mut payload, from);
        payload.push_str(",\"to_cursor\":");
        push_string(&mut payload, to);
        let _ = write!(payload, ",\"events_replayed\":{count}}}");
        self.tell(now, "event.replayed", &payload)
    }

    /// `state.invalidated`: a stretch that a subscription does not get. `gap` is JSON.
    pub fn gap(&mut self, now: Timestamp, id: &str, gap: &str) -> String {
        let mut payload = String::from("{\"reason\":\"gap\",\"subscription_id\":");
        push_string(&mut payload, id);
        let _ = write!(payload, ",\"gap\":{gap}}}");
        self.tell(now, "state.invalidated", &payload)
    }
}

fn created(now: Timestamp, subscription: &Subscription) -> String {
    let mut out = String::from("{\"subscription_id\":");
    push_string(&mut out, &subscription.id);
    let _ = write!(
        out,
        ",\"filter\":{},\"created_at\":\"{now}\",\"expires_at\":",
        subscription.asked
    );
    match subscription.expires {
        Some(moment) => {
            let _ = write!(out, "\"{moment}\"");
        }
        None => out.push_str("null"),
    }
    let _ = write!(out, ",\"delivery_mode\":\"{}\"", subscription.mode.as_str());
    if let Some(cursor) = subscription.cursor() {
        out.push_str(",\"cursor\":");
        push_string(&mut out, cursor);
    }
    out.push('}');
    out
}
