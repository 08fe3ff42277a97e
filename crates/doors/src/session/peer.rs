//! One connection from its opening to its end.

use super::deliver::Readers;
use super::frames::{Broken, Frames, Goodbye, Heard};
use super::held::Held;
use super::host::{Host, random};
use super::overhear::Overheard;
use super::registry::Claim;
use super::work::{Done, Work};
use broker::{Handle, Published, Settle, Submission, label};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use protocol::session::{About, Accepted, Ending, Machine, Step, Verdict};
use protocol::{Code, DialectName, Fault, Party, Rejection, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

/// Frames taken from the peer before what is ready is sent.
const FRAMES_PER_FLUSH: usize = 128;

/// A peer that is silent for so many keep-alive periods is gone.
const SILENT_PERIODS_MAX: u32 = 3;

/// Bounds the sleep until the next moment of the machine, so that a far one does not overflow.
const DUE_MAX: Duration = Duration::from_secs(3_600);

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The link broke.
    Gone,
    /// The peer said goodbye.
    Closed,
    /// The peer did not take its data.
    Slow,
    /// The peer was silent for too long.
    Silent,
    /// The peer sent what is no frame.
    Unreadable(Goodbye),
    /// The session's last word was said.
    Said(Ending),
    /// The session went on elsewhere.
    Taken,
    /// The exchange shuts down.
    Draining,
    /// Everything ends at once.
    Cut,
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Gone => Self::Gone,
            Broken::Slow => Self::Slow,
        }
    }
}

/// A publish between its frame and its answer.
struct Pending {
    about: About,
    dialect: &'static str,
}

/// Serves one connection until it ends. `handle` is the connection's own way into the exchange,
/// `compression` what its transport compresses with. True when the peer ended it in good order.
pub async fn run<F: Frames>(
    host: Host,
    handle: Handle,
    compression: &[&'static str],
    frames: F,
) -> bool {
    let end = host.end.clone();
    let mut peer = Peer::new(host, handle, compression, frames);
    let why = match peer.serve().await {
        Ok(never) => match never {},
        Err(why) => why,
    };
    tokio::select! {
        () = end.cancelled() => {}
        () = peer.finish(why) => {}
    }
    tracing::debug!(?why, "session ended");
    why == End::Closed
}

/// One connection.
pub(super) struct Peer<F> {
    pub(super) host: Host,
    pub(super) handle: Handle,
    pub(super) frames: F,
    pub(super) machine: Machine,
    pub(super) held: Held,
    pub(super) readers: Readers,
    pub(super) work: Work,
    pub(super) overheard: Overheard,
    /// Its name as a consumer, and the key of its durable subscriptions without a session.
    pub(super) own_name: Arc<str>,
    pub(super) claim: Option<Claim>,
    together: Vec<Submission>,
    pending: HashMap<u64, Pending>,
    numbered: u64,
    results: mpsc::UnboundedReceiver<(u64, Published)>,
    submit: mpsc::UnboundedSender<(u64, Published)>,
    keep_alive: Interval,
    heard: Instant,
    /// Who opened the session or said what it can do.
    speaker: Option<Party>,
    began: (Instant, Timestamp),
}

impl<F: Frames> Peer<F> {
    fn new(host: Host, handle: Handle, compression: &[&'static str], frames: F) -> Self {
        let (submit, results) = mpsc::unbounded_channel();
        let period = host.settings.keep_alive();
        let mut keep_alive = interval_at(Instant::now() + period, period);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (began, random) = ((Instant::now(), handle.now()), random());
        let capabilities = host.capabilities(compression);
        let machine = Machine::new(
            began.1,
            random,
            capabilities,
            host.settings.subscriptions_max,
        );
        let overheard = Overheard::new(F::OVERHEARS, handle.head());
        Self {
            overheard,
            host,
            handle,
            frames,
            machine,
            held: Held::default(),
            readers: Readers::default(),
            work: Work::new(),
            own_name: format!("session-{random:016x}").into(),
            claim: None,
            together: Vec::new(),
            pending: HashMap::new(),
            numbered: 0,
            results,
            submit,
            keep_alive,
            heard: Instant::now(),
            speaker: None,
            began,
        }
    }

    /// The time, which never steps back while this connection lasts.
    pub(super) fn now(&self) -> Timestamp {
        let (start, moment) = self.began;
        let passed = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
        moment.plus_millis(passed)
    }

    fn due(&self) -> Instant {
        let (start, moment) = self.began;
        let far = Instant::now() + DUE_MAX;
        let Some(due) = self.machine.due() else {
            return far;
        };
        let after = due.as_millis().saturating_sub(moment.as_millis()).max(0);
        far.min(start + Duration::from_millis(after.unsigned_abs()).min(DUE_MAX * 24 * 365))
    }

    async fn serve(&mut self) -> Result<std::convert::Infallible, End> {
        loop {
            self.frames.flush().await?;
            self.settle_flushed();
            if self.host.stop.is_draining() {
                return Err(End::Draining);
            }
            let has_room = self.pending.len() < self.host.settings.in_flight_max.max(1);
            let due = self.due();
            let overhears = self.overheard.due();
            let taken = self.claim.as_ref().map(|claim| claim.taken.clone());
            let taken = async {
                match taken {
                    Some(taken) => taken.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                heard = self.frames.next(), if has_room => {
                    let received = self.receive_with_ready(heard).await;
                    // Also when the peer has said goodbye: what it sent before counts.
                    self.hand_over().await;
                    received?;
                }
                Some((number, result)) = self.results.recv() => self.answer(number, result).await?,
                Some(done) = self.work.next(), if !self.work.is_empty() => self.done(done).await?,
                _ = self.keep_alive.tick() => self.keep_alive(has_room).await?,
                () = sleep_until(due) => {
                    let steps = self.machine.tick(self.now());
                    self.carry_out(steps).await?;
                }
                () = sleep_until(overhears.unwrap_or(due)), if overhears.is_some() => self.overhear(),
                () = taken => return Err(End::Taken),
                () = self.host.stop.draining() => {}
                () = self.host.end.cancelled() => return Err(End::Cut),
            }
        }
    }

    /// Takes a frame and those that have arrived already, so that one commit can take them.
    async fn receive_with_ready(&mut self, first: Heard) -> Result<(), End> {
        self.receive(first).await?;
        for _ in 1..FRAMES_PER_FLUSH {
            if self.pending.len() >= self.host.settings.in_flight_max.max(1) {
                break;
            }
            let Some(heard) = self.frames.next().now_or_never() else {
                break;
            };
            self.receive(heard).await?;
        }
        Ok(())
    }

    async fn receive(&mut self, heard: Heard) -> Result<(), End> {
        self.heard = Instant::now();
        let now = self.now();
        match heard {
            Heard::Gone => Err(End::Gone),
            Heard::Closed => Err(End::Closed),
            Heard::Unreadable(goodbye) => Err(End::Unreadable(goodbye)),
            Heard::Alive => {
                self.machine.heard(now);
                if let Some(party) = self.speaker.clone() {
                    // It fails only when the exchange is gone, which is found out elsewhere.
                    let _ = self.handle.saw(party).await;
                }
                Ok(())
            }
            Heard::Binary => {
                let detail = "expected a text frame, got a binary one";
                let refused = Fault::new(Code::BadFrame, "", "AEP 9.2", detail).into();
                self.answer_rest().await?;
                let text = self.machine.refuse_frame(now, &refused);
                self.say(text).await
            }
            Heard::Text(text) => {
                let reading = protocol::decode(&text, &self.handle.rules());
                let dialect = reading.dialect.map_or("none", DialectName::as_str);
                if let Some(fault) = reading.faults.first() {
                    self.handle.count(dialect, fault.code.as_str());
                    tracing::info!(code = %fault.code, pointer = fault.pointer, "frame refused");
                }
                let told = to_the_exchange(&reading);
                let steps = self.machine.hear(now, &text, reading);
                if let Some(header) = told {
                    self.speaker = Some(header.sender.clone());
                    let is_published = |step: &Step| matches!(step, Step::Publish { .. });
                    if !steps.iter().any(is_published) {
                        let _ = self.handle.hear(header, text.clone()).await;
                    }
                }
                self.carry_out_of(steps, Some(&text)).await
            }
        }
    }

    pub(super) async fn carry_out(&mut self, steps: Vec<Step>) -> Result<(), End> {
        self.carry_out_of(steps, None).await
    }

    async fn carry_out_of(&mut self, steps: Vec<Step>, frame: Option<&Bytes>) -> Result<(), End> {
        // Opening a session gives steps of its own, which come first.
        let mut steps: std::collections::VecDeque<Step> = steps.into();
        while let Some(step) = steps.pop_front() {
            self.overheard.heed(&step);
            match step {
                Step::Say(text) => {
                    // Answers come in the order of what they answer.
                    self.answer_rest().await?;
                    self.say(text).await?;
                }
                Step::Publish {
                    about,
                    header,
                    warnings,
                } => {
                    let number = self.numbered;
                    self.numbered += 1;
                    let dialect = header.dialect.as_str();
                    self.pending.insert(number, Pending { about, dialect });
                    self.together.push(Submission {
                        number,
                        header: *header,
                        envelope: frame.cloned().unwrap_or_default(),
                        warnings,
                    });
                }
                Step::Settle { event, verdict } => self.settle(&event, verdict).await,
                Step::Open {
                    about,
                    source,
                    offer,
                } => {
                    self.answer_rest().await?;
                    self.let_go();
                    let session = offer.session.as_deref().unwrap_or_default();
                    let (claim, parked) = self.host.registry.claim(&source, session).await;
                    self.claim = Some(claim);
                    let opened = self
                        .machine
                        .open(self.now(), &about, &source, &offer, parked);
                    for step in opened.into_iter().rev() {
                        steps.push_front(step);
                    }
                }
                Step::Attach {
                    party,
                    is_acknowledged,
                } => self.attach(party, is_acknowledged),
                Step::Subscribe {
                    about,
                    subscription,
                } => {
                    self.hand_over().await;
                    self.subscribe(about, *subscription);
                }
                Step::Unsubscribe(id) => self.unsubscribe(&id).await,
                Step::End(ending) => return Err(End::Said(ending)),
            }
        }
        if self.machine.session().is_none() {
            self.let_go();
        }
        Ok(())
    }

    /// The session was closed: nobody goes on with it.
    fn let_go(&mut self) {
        if let Some(claim) = self.claim.take() {
            self.host.registry.release(&claim);
        }
    }

    pub(super) async fn say(&mut self, text: String) -> Result<(), End> {
        Ok(self.frames.send(text.into()).await?)
    }

    /// Settles what this connection holds of an event, before the message that says so.
    async fn settle(&mut self, event: &str, verdict: Verdict) {
        if verdict == Verdict::Done
            && let Some(place) = self.held.place_of(event)
        {
            self.machine.acknowledged(&place);
        }
        let deliveries = self.held.take(event);
        if deliveries.is_empty() {
            return;
        }
        let how = match verdict {
            Verdict::Done => Settle::Ack,
            Verdict::Again(reason) => Settle::Nack {
                retry_after_ms: None,
                reason,
            },
            Verdict::Never(reason) => Settle::Reject { reason },
        };
        self.begin_settle(deliveries, how).await;
    }

    pub(super) async fn begin_settle(&mut self, deliveries: Vec<broker::DeliveryId>, how: Settle) {
        match self.handle.begin_settle(deliveries, how).await {
            Ok(settled) => {
                super::work::add(&self.work, async move {
                    for refused in settled.await.into_iter().flatten().filter_map(Result::err) {
                        // The lease ran out in between; the message itself settles it, if anything does.
                        tracing::debug!(%refused, "a delivery was not settled by its lease");
                    }
                    Done::Over
                });
            }
            Err(refused) => tracing::debug!(%refused, "nothing is settled any more"),
        }
    }

    /// Gives the exchange what arrived together.
    pub(super) async fn hand_over(&mut self) {
        if !self.together.is_empty() {
            let together = std::mem::take(&mut self.together);
            self.handle.submit(together, &self.submit).await;
        }
    }

    async fn answer(&mut self, number: u64, result: Published) -> Result<(), End> {
        let Some(Pending { about, dialect }) = self.pending.remove(&number) else {
            return Ok(());
        };
        let result = result.and_then(|receipt| self.handle.complete(receipt));
        self.handle.count(dialect, label(&result));
        let now = self.now();
        let text = match &result {
            Ok(receipt) => {
                self.overheard.note_own(receipt.cursor.sequence);
                let (cursor, receipt) = (receipt.cursor.to_string(), receipt.to_json());
                let accepted = Accepted {
                    cursor: &cursor,
                    receipt: &receipt,
                };
                self.machine.published(now, &about, Ok(accepted))
            }
            Err(refused) => {
                let refused = self.advise(refused.clone());
                self.machine.published(now, &about, Err(&refused))
            }
        };
        self.say(text).await
    }

    /// A refusal because of the drain says when to come back.
    pub(super) fn advise(&self, refused: Rejection) -> Rejection {
        if refused.code() == Code::Draining {
            refused.retry_after(self.host.settings.drain_retry_ms)
        } else {
            refused
        }
    }

    /// Waits for the results of publishes that are in the exchange.
    pub(super) async fn answer_rest(&mut self) -> Result<(), End> {
        self.hand_over().await;
        while !self.pending.is_empty()
            && let Some((number, result)) = self.results.recv().await
        {
            self.answer(number, result).await?;
        }
        Ok(())
    }

    async fn keep_alive(&mut self, was_listening: bool) -> Result<(), End> {
        if !F::HAS_PINGS {
            return Ok(());
        }
        let silence = self
            .host
            .settings
            .keep_alive()
            .saturating_mul(SILENT_PERIODS_MAX);
        if was_listening && self.heard.elapsed() >= silence {
            return Err(End::Silent);
        }
        Ok(self.frames.ping().await?)
    }
}

/// The facts of what is said to the exchange itself and is not published, such as what an agent can do.
fn to_the_exchange(reading: &protocol::Reading) -> Option<protocol::Header> {
    let header = reading.header.as_ref()?;
    let family = header.kind.split('.').next();
    let is_control =
        header.dialect == DialectName::Aep && matches!(family, Some("session" | "capabilities"));
    (is_control && reading.faults.is_empty()).then(|| header.clone())
}
