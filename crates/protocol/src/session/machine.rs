//! The session machine: what was heard goes in, what to do comes out.
//!
//! long because: one machine whose every answer needs the same state.

use super::about::About;
use super::capabilities::Capabilities;
use super::control::Control;
use super::offer::Offer;
use super::parked::Parked;
use super::speech::{Voice, push_error};
use super::step::{Accepted, Ending, Step, Verdict};
use super::subscription::{DeliveryMode, Place, Subscription};
use super::{SessionMove, SessionState};
use crate::dialect::aep::flow::Move;
use crate::json::{Limits, Value, push_string, read};
use crate::{
    Code, DialectName, Fault, Filter, Header, Party, Reading, Rejection, SettlementVerdict,
    Timestamp,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Silence of so many heartbeats is the end (AEP 3.4).
const MISSED_MAX: i64 = 3;

/// One side of one connection.
#[derive(Clone, Debug)]
pub struct Machine {
    capabilities: Capabilities,
    voice: Voice,
    state: SessionState,
    session: Option<Box<str>>,
    source: Option<Box<str>>,
    /// The id of a session that ended on this connection.
    ended: Option<Box<str>>,
    /// An opening that waits for [`Self::open`].
    opening: bool,
    attached: Option<Party>,
    heartbeat_ms: u64,
    /// Whether silence is judged: the peer itself agreed to heartbeats.
    is_judged: bool,
    heard_at: Timestamp,
    said_at: Timestamp,
    subscriptions: BTreeMap<Box<str>, Subscription>,
    subscriptions_max: usize,
    numbered: u32,
}

impl Machine {
    /// A connection that nothing was heard on. `random` tells its ids from those of others.
    #[must_use]
    pub fn new(
        now: Timestamp,
        random: u64,
        capabilities: Capabilities,
        subscriptions_max: usize,
    ) -> Self {
        Self {
            capabilities,
            voice: Voice::new(random),
            state: SessionState::Created,
            session: None,
            source: None,
            ended: None,
            opening: false,
            attached: None,
            heartbeat_ms: 0,
            is_judged: false,
            heard_at: now,
            said_at: now,
            subscriptions: BTreeMap::new(),
            subscriptions_max,
            numbered: 0,
        }
    }

    /// Where the session stands.
    #[must_use]
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// Its subscriptions, in the order of their ids.
    pub fn subscriptions(&self) -> impl Iterator<Item = &Subscription> {
        self.subscriptions.values()
    }

    /// The open session's id.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// A sign of life that is no message, such as the answer to a ping.
    pub fn heard(&mut self, now: Timestamp) {
        self.heard_at = self.heard_at.max(now);
    }

    /// One message, with what reading it found.
    pub fn hear(&mut self, now: Timestamp, text: &[u8], reading: Reading) -> Vec<Step> {
        self.heard(now);
        let (header, warnings) = match reading.into_result() {
            Ok(valid) => valid,
            Err(refused) => return vec![Step::Say(self.refuse_text(now, text, &refused))],
        };
        let about = About::header(&header);
        // The registry of the binding is closed (AEP 1.3), whatever the exchange carries on other doors.
        if let Some(unknown) = warnings
            .iter()
            .find(|one| one.code == Code::UnknownEventType)
        {
            let (at, rule) = (unknown.pointer.clone(), unknown.rule);
            let fault = Fault::new(Code::InvalidEventType, at, rule, unknown.detail.clone());
            return vec![self.refuse(now, &about, fault)];
        }
        if header.session.is_some() && header.session == self.ended && !is_opening(&header) {
            return vec![self.refuse(now, &about, closed(&header))];
        }
        if header.dialect != DialectName::Aep || !is_session_family(&header.kind) {
            return self.carry(about, header, warnings);
        }
        let limits = Limits {
            bytes_max: text.len(),
            depth_max: usize::MAX,
        };
        match read(text, limits) {
            Ok(document) => match Control::of(&header, document.root()) {
                Some(control) => self.control(now, about, &header, document.root(), control),
                None => self.carry(about, header, warnings),
            },
            // It was read a moment ago.
            Err(fault) => vec![self.refuse(now, &about, fault)],
        }
    }

    /// A text that is no valid message.
    fn refuse_text(&mut self, now: Timestamp, text: &[u8], refused: &Rejection) -> String {
        let limits = Limits {
            bytes_max: text.len(),
            ..Limits::default()
        };
        let about = match read(text, limits) {
            Ok(document) => About::document(document.root()),
            Err(_) => About::default(),
        };
        self.voice.refuse(now, &about, refused)
    }

    /// The refusal of something that never became a message, such as a binary frame.
    pub fn refuse_frame(&mut self, now: Timestamp, refused: &Rejection) -> String {
        self.voice.refuse(now, &About::default(), refused)
    }

    fn refuse(&mut self, now: Timestamp, about: &About, fault: Fault) -> Step {
        Step::Say(self.voice.refuse(now, about, &fault.into()))
    }

    /// A message for the exchange, and what it says about deliveries of this connection.
    fn carry(&mut self, about: About, header: Header, warnings: Vec<Fault>) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some((event, verdict)) = settled(&header) {
            if self.voice.said(&event) {
                // An answer to our answer; to answer that, too, would never end.
                return steps;
            }
            steps.push(Step::Settle { event, verdict });
        }
        // AEE and UAI-1 have no word for subscribing: who speaks is served. An AEP peer opens a session
        // or subscribes, so one that only emits takes nothing away from the readers of its inbox.
        let speaker = (header.dialect != DialectName::Aep).then(|| header.sender.clone());
        steps.push(Step::Publish {
            about,
            header: Box::new(header),
            warnings,
        });
        if let Some(speaker) = speaker {
            self.attach(speaker, false, &mut steps);
        }
        steps
    }

    /// The first party that speaks on the connection is the one it is for.
    fn attach(&mut self, party: Party, is_acknowledged: bool, steps: &mut Vec<Step>) {
        if self.attached.is_some() || party.is_wildcard() || party.is_channel() {
            return;
        }
        self.attached = Some(party.clone());
        steps.push(Step::Attach {
            party,
            is_acknowledged,
        });
    }

    fn control(
        &mut self,
        now: Timestamp,
        about: About,
        header: &Header,
        document: Value<'_>,
        control: Control,
    ) -> Vec<Step> {
        match control {
            Control::Open(offer) => self.begin(now, about, header, offer),
            Control::Close => self.close(now, &about),
            // Life was noted; a heartbeat has no answer (AEP 3.4).
            Control::Beat => Vec::new(),
            Control::Error => self.failed(),
            Control::Ask(offer) => {
                let ours = self.capabilities.profiles();
                match offer.agree(&ours) {
                    Ok(agreed) => {
                        let heartbeat_ms = self.heartbeat(&offer);
                        let payload = self.capabilities.declared(&agreed, heartbeat_ms);
                        let kind = "capabilities.declared";
                        vec![Step::Say(self.voice.answer(now, kind, &about, &payload))]
                    }
                    Err(fault) => self.fail(now, &about, fault, &offer),
                }
            }
            Control::Declare(offer) => {
                let ours = self.capabilities.profiles();
                if let Err(fault) = offer.agree(&ours) {
                    return self.fail(now, &about, fault, &offer);
                }
                self.agree_heartbeat(&offer);
                vec![Step::Say(self.voice.acknowledge(now, &about, None))]
            }
            Control::Told => vec![Step::Say(self.voice.acknowledge(now, &about, None))],
            Control::Subscribe => self.subscribe(now, about, header, document),
            Control::Cancel(id) => {
                let mut steps = Vec::new();
                // Acknowledged also when there is none (AEP 4.3).
                if let Some(id) = id
                    && self.subscriptions.remove(&id).is_some()
                {
                    steps.push(Step::Unsubscribe(id));
                }
                steps.push(Step::Say(self.voice.acknowledge(now, &about, None)));
                steps
            }
        }
    }

    /// `session.opened`.
    fn begin(
        &mut self,
        now: Timestamp,
        about: About,
        header: &Header,
        mut offer: Offer,
    ) -> Vec<Step> {
        if self.session.is_some() || self.opening {
            let open = self.session.as_deref().unwrap_or_default();
            let detail = format!("expected no open session on this connection, got {open:?}");
            let fault = Fault::new(
                Code::SessionConflict,
                "/payload/session_id",
                "AEP 3.1",
                detail,
            );
            return vec![self.refuse(now, &about, fault)];
        }
        let ours = self.capabilities.profiles();
        if let Err(fault) = offer.agree(&ours) {
            return self.fail(now, &about, fault, &offer);
        }
        if offer.session.as_deref().is_none_or(str::is_empty) {
            offer.session = Some(self.voice.id("sess_", now).into());
        }
        self.state = SessionState::Created
            .after(SessionMove::Open)
            .unwrap_or_default();
        self.opening = true;
        let source = header.sender.as_str().into();
        vec![Step::Open {
            about,
            source,
            offer: Box::new(offer),
        }]
    }

    /// Answers an opening with `session.ready`, going on from `parked` when there is such a session.
    pub fn open(
        &mut self,
        now: Timestamp,
        about: &About,
        source: &str,
        offer: &Offer,
        parked: Option<Parked>,
    ) -> Vec<Step> {
        let Some(ready) = self.state.after(SessionMove::Ready) else {
            return Vec::new();
        };
        self.opening = false;
        self.state = ready;
        self.ended = None;
        self.session.clone_from(&offer.session);
        self.source = Some(source.into());
        self.agree_heartbeat(offer);
        let agreed = offer
            .agree(&self.capabilities.profiles())
            .unwrap_or_default();
        let mut payload = String::from("{\"session_id\":");
        push_string(&mut payload, self.session.as_deref().unwrap_or_default());
        let _ = write!(
            payload,
            ",\"capabilities\":{},\"resumed\":{}",
            self.capabilities.ready(&agreed, self.heartbeat_ms),
            parked.is_some()
        );
        let mut begin = Vec::new();
        if let Some(parked) = parked {
            self.numbered = self.numbered.max(parked.numbered);
            for subscription in parked.subscriptions {
                begin.push(self.bring_back(subscription, offer.last_seen.as_deref()));
            }
        }
        self.write_places(&mut payload);
        payload.push('}');
        let mut steps = vec![Step::Say(self.voice.answer(
            now,
            "session.ready",
            about,
            &payload,
        ))];
        self.said_at = now;
        steps.extend(begin);
        let is_acknowledged = matches!(
            offer.mode,
            Some(DeliveryMode::AtLeastOnce | DeliveryMode::Replayable)
        );
        self.attached = None;
        self.attach(Party::parse(source), is_acknowledged, &mut steps);
        steps
    }

    /// Nobody may go on from where the opening wants to.
    pub fn refuse_open(&mut self, now: Timestamp, about: &About, refused: &Rejection) -> Vec<Step> {
        self.opening = false;
        self.state = SessionState::Created;
        vec![Step::Say(self.voice.refuse(now, about, refused))]
    }

    fn bring_back(&mut self, mut subscription: Subscription, last_seen: Option<&str>) -> Step {
        subscription.from = match subscription.mode {
            DeliveryMode::AtLeastOnce => None,
            DeliveryMode::BestEffort | DeliveryMode::Replayable => last_seen
                .map(Box::from)
                .or_else(|| Some(subscription.resume_at()?.cursor.clone())),
        };
        subscription.is_resumed = true;
        let step = Step::Subscribe {
            about: None,
            subscription: Box::new(subscription.clone()),
        };
        self.subscriptions
            .insert(subscription.id.clone(), subscription);
        step
    }

    /// `session.closed`: acknowledged, then said back (AEP 3.2).
    fn close(&mut self, now: Timestamp, about: &About) -> Vec<Step> {
        let mut steps = self.cancel_all();
        steps.push(Step::Say(self.voice.acknowledge(now, about, None)));
        if let Some(session) = self.session.take() {
            let mut payload = String::from("{\"session_id\":");
            push_string(&mut payload, &session);
            payload.push_str(",\"reason\":\"closed_by_peer\"}");
            let target = self.source.take();
            steps.push(Step::Say(self.voice.tell(
                now,
                "session.closed",
                Some(&session),
                target.as_deref(),
                &payload,
            )));
            self.ended = Some(session);
        }
        self.end_with(SessionMove::Close);
        steps
    }

    fn end_with(&mut self, step: SessionMove) {
        self.state = self.state.after(step).unwrap_or(self.state);
        self.heartbeat_ms = 0;
        self.is_judged = false;
        self.opening = false;
        if let Some(session) = self.session.take() {
            self.ended = Some(session);
        }
        self.source = None;
    }

    fn cancel_all(&mut self) -> Vec<Step> {
        let subscriptions = std::mem::take(&mut self.subscriptions);
        subscriptions.into_keys().map(Step::Unsubscribe).collect()
    }

    /// The peer said `session.error`.
    fn failed(&mut self) -> Vec<Step> {
        let mut steps = self.cancel_all();
        self.end_with(SessionMove::Fail);
        steps.push(Step::End(Ending::Failed));
        steps
    }

    /// An offer that cannot be met: `session.error`, and the end (AEP 3.3).
    fn fail(&mut self, now: Timestamp, about: &About, fault: Fault, offer: &Offer) -> Vec<Step> {
        let ours = self.capabilities.profiles();
        let (missing, ours) = (json_list(&offer.missing(&ours)), json_list(&ours));
        let details: &[(&str, &str)] = if fault.code == Code::UnsupportedProfile {
            &[("required", &missing), ("profiles", &ours)]
        } else {
            &[]
        };
        let mut payload = String::from("{\"session_id\":");
        push_string(&mut payload, offer.session.as_deref().unwrap_or_default());
        payload.push_str(",\"error\":");
        push_error(&mut payload, &fault.into(), details);
        payload.push('}');
        let mut steps = self.cancel_all();
        let kind = "session.error";
        steps.push(Step::Say(self.voice.answer(now, kind, about, &payload)));
        self.end_with(SessionMove::Fail);
        steps.push(Step::End(Ending::Refused));
        steps
    }

    /// The interval that both can live with: the shorter one, none if the peer wants none.
    fn heartbeat(&self, offer: &Offer) -> u64 {
        match (offer.heartbeat_ms, self.capabilities.heartbeat_ms) {
            (Some(0), _) => 0,
            (Some(theirs), 0) => theirs,
            (Some(theirs), ours) => theirs.min(ours),
            (None, ours) => ours,
        }
    }

    fn agree_heartbeat(&mut self, offer: &Offer) {
        self.heartbeat_ms = self.heartbeat(offer);
        self.is_judged = offer.heartbeat_ms.is_some_and(|ms| ms > 0);
    }

    fn subscribe(
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

    fn about_subscription(
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

    fn tell(&mut self, now: Timestamp, kind: &str, payload: &str) -> String {
        let (session, source) = (self.session.as_deref(), self.source.as_deref());
        let source = source.or(self.attached.as_ref().map(Party::as_str));
        self.voice.tell(now, kind, session, source, payload)
    }

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

    fn interval(&self) -> i64 {
        i64::try_from(self.heartbeat_ms).unwrap_or(i64::MAX)
    }

    fn silent_at(&self) -> Timestamp {
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
    fn time_out(&mut self, now: Timestamp, session: &str) -> Vec<Step> {
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
    fn write_places(&self, out: &mut String) {
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

fn is_opening(header: &Header) -> bool {
    &*header.kind == "session.opened"
}

fn is_session_family(kind: &str) -> bool {
    let family = kind.split_once('.').map_or("", |(family, _)| family);
    matches!(family, "session" | "capabilities" | "subscription")
}

fn closed(header: &Header) -> Fault {
    let id = header.session.as_deref().unwrap_or_default();
    let detail = format!("expected an open session, got {id:?}, which has ended");
    Fault::new(Code::SessionClosed, "/session_id", "AEP 3.1", detail)
}

/// What a message says about a delivery, whatever its dialect.
fn settled(header: &Header) -> Option<(Box<str>, Verdict)> {
    if let Some(settlement) = &header.settles {
        let verdict = match &settlement.verdict {
            SettlementVerdict::Acknowledged => Verdict::Done,
            SettlementVerdict::Again { reason } => Verdict::Again(reason.clone()),
            SettlementVerdict::Never { reason } => Verdict::Never(reason.clone()),
        };
        return Some((settlement.id.clone(), verdict));
    }
    match &header.flow.as_ref()?.step {
        Move::Redelivered(event) => {
            Some((event.clone(), Verdict::Again("event.redelivered".into())))
        }
        Move::DeadLettered(event) => {
            Some((event.clone(), Verdict::Never("event.dead_lettered".into())))
        }
        _ => None,
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

fn json_list(items: &[String]) -> String {
    let mut out = String::from("[");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(&mut out, item);
    }
    out.push(']');
    out
}
