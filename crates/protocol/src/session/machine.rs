//! The session machine: what was heard goes in, what to do comes out.

mod passing;
mod subscribing;

use super::about::About;
use super::capabilities::Capabilities;
use super::control::Control;
use super::offer::Offer;
use super::parked::Parked;
use super::speech::{Voice, push_error};
use super::step::{Ending, Step, Verdict};
use super::subscription::{DeliveryMode, Subscription};
use super::{SessionMove, SessionState};
use crate::dialect::aep::flow::Move;
use crate::json::{Limits, Value, push_string, read};
use crate::{
    Code, DialectName, Fault, Header, Party, Reading, Rejection, SettlementVerdict, Timestamp,
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

    fn tell(&mut self, now: Timestamp, kind: &str, payload: &str) -> String {
        let (session, source) = (self.session.as_deref(), self.source.as_deref());
        let source = source.or(self.attached.as_ref().map(Party::as_str));
        self.voice.tell(now, kind, session, source, payload)
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
