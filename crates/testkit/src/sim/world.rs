//! The events, one after the other, on the real exchange. Long because every event is one arm here.

use super::door::{self, Answering, Readers};
use super::event::{self, End, Event, Plan};
use super::messages::{PARTIES, START, message};
use super::model::{Model, Verdict};
use super::report::Report;
use crate::CrashDisk;
use crate::history::{Answer, Call, How, Line, Place, Stored, Wants, What, inbox, subscription};
use broker::{Clock, Durability, Stepped};
use bytes::Bytes;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::runtime::Runtime;

/// A run that broke a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which promise.
    pub broken: String,
    /// Everything that was asked and answered until then.
    pub history: Vec<Line>,
}

/// Runs the events of a seed.
///
/// # Errors
/// The first promise that was broken.
pub fn run(seed: u64) -> Result<Report, Box<Failure>> {
    run_events(seed, &event::events(seed))
}

/// Runs some of the events of a seed, under its settings.
///
/// # Errors
/// The first promise that was broken.
pub fn run_events(seed: u64, events: &[Event]) -> Result<Report, Box<Failure>> {
    let mut world = World::new(seed, event::plan(seed));
    let ended = catch_unwind(AssertUnwindSafe(|| world.live(events)))
        .unwrap_or_else(|panic| Err(format!("a panic: {}", text_of(panic.as_ref()))));
    match ended {
        Ok(()) => Ok(world.report),
        Err(broken) => Err(Box::new(Failure {
            broken,
            history: world.history,
        })),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "with no text".into())
}

/// What was asked and answered, whether or not all promises were kept.
pub fn history_of(seed: u64, events: &[Event]) -> Vec<Line> {
    let mut world = World::new(seed, event::plan(seed));
    let _ = world.live(events);
    world.history
}

struct World {
    plan: Plan,
    /// Gives the handle's timers a home; it is never run, so no time passes in it.
    runtime: Runtime,
    disk: CrashDisk,
    clock: Clock,
    /// Gone while it is being opened again.
    exchange: Option<Stepped>,
    is_ending: bool,
    has_failed: bool,
    pending: Vec<Pending>,
    readers: Readers,
    /// Every delivery that was ever handed out, and every dead letter that was listed.
    deliveries: Vec<String>,
    letters: Vec<String>,
    /// How often each subscription was removed: a name is used once.
    generations: [u64; SLOTS],
    /// What readers follow and how far they are.
    followed: Vec<(u64, Wants, u64)>,
    calls: u64,
    lives: u64,
    model: Model,
    history: Vec<Line>,
    report: Report,
}

struct Pending {
    call: u64,
    ask: Call,
    answering: Answering,
    /// The loop has seen it and it waits there.
    is_parked: bool,
}

impl World {
    fn new(seed: u64, plan: Plan) -> Self {
        let exchange = &plan.settings.exchange;
        let waits = (
            exchange.nack_delay_ms_min,
            i64::from(exchange.nack_jitter_milli),
        );
        Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap_or_else(|error| unreachable!("no runtime: {error}")),
            disk: CrashDisk::new(seed),
            clock: Clock::set_to(START),
            exchange: None,
            is_ending: false,
            has_failed: false,
            pending: Vec::new(),
            readers: Readers::default(),
            deliveries: Vec::new(),
            letters: Vec::new(),
            generations: [0; SLOTS],
            followed: Vec::new(),
            calls: 0,
            lives: 0,
            model: Model::new(&PARTIES, plan.terms[0], waits),
            history: Vec::new(),
            report: Report::default(),
            plan,
        }
    }

    fn live(&mut self, events: &[Event]) -> Verdict {
        self.open()?;
        // Every inbox is there from the beginning, so that all know whom a wildcard means.
        for (at, party) in PARTIES.iter().enumerate() {
            let terms = self.plan.terms[at % 3];
            let place = inbox(party);
            self.call(Call::Configure { place, terms })?;
        }
        self.finish()?;
        for event in events {
            self.happen(*event)?;
            if self.disk.is_off() {
                self.report.count("power failures during an operation");
                self.crash(End::PowerLoss, 1)?;
            }
        }
        self.report.add("events", events.len() as u64);
        self.report.count("runs");
        self.come_to_rest()
    }

    fn happen(&mut self, event: Event) -> Verdict {
        match event {
            Event::Publish { number, is_variant } => {
                let (message, envelope) = message(number, is_variant);
                self.send(Call::Publish { message }, envelope)
            }
            Event::Subscribe { slot, is_other } => self.call(self.subscribe(slot, is_other)),
            Event::Unsubscribe { slot } => {
                let at = index(slot, SLOTS);
                let name = self.name(at);
                self.generations[at] += 1;
                self.call(Call::Unsubscribe { name })
            }
            Event::Pull {
                place,
                consumer,
                max,
                wait,
            } => {
                self.call(Call::Pull {
                    place: self.place(place),
                    consumer: consumer_of(consumer),
                    max,
                    wait,
                })?;
                // A pull that waits is served after others. It waits before any other is asked, so
                // that nobody need guess which was served first.
                while wait && !self.is_idle() {
                    self.step()?;
                }
                Ok(())
            }
            Event::Abandon { which } => self.abandon(which),
            Event::Settle { which, count, how } => self.settle(which, count, how),
            Event::Leave {
                place,
                consumer,
                is_dead,
            } => self.leave(place, consumer, is_dead),
            Event::Pause { place, is_paused } => self.call(Call::Pause {
                place: self.place(place),
                is_paused,
            }),
            Event::DeadLetters { place } => self.call(Call::DeadLetters {
                place: self.place(place),
            }),
            Event::Redrive { which } => match one_of(&self.letters, which).cloned() {
                Some(letter) => self.call(Call::Redrive { letter }),
                None => Ok(()),
            },
            Event::Drop { which } => match one_of(&self.letters, which).cloned() {
                Some(letter) => self.call(Call::Drop { letter }),
                None => Ok(()),
            },
            Event::Read => self.call(Call::Read),
            Event::Follow { which } => self.follow(which),
            Event::Next { which, max } => {
                let readers: Vec<u64> = self.readers.borrow().keys().copied().collect();
                match one_of(&readers, which) {
                    Some(reader) => self.call(Call::Next {
                        reader: *reader,
                        max,
                    }),
                    None => Ok(()),
                }
            }
            Event::Step => self.step(),
            Event::Pass { ms } => {
                self.clock.set(self.clock.now().plus_millis(ms));
                // The loop sleeps until the next deadline and no longer.
                let is_due = |exchange: &Stepped| {
                    let deadline = exchange.next_deadline();
                    deadline.is_some_and(|deadline| deadline <= self.clock.now())
                };
                match self.exchange.as_ref().is_some_and(is_due) {
                    true => self.step(),
                    false => Ok(()),
                }
            }
            Event::WriteAhead => {
                let stepped = self.exchange.as_ref().map(Stepped::write_ahead);
                self.notice(stepped.is_some_and(|stepped| stepped.is_err()));
                Ok(())
            }
            Event::Index => {
                self.exchange.iter_mut().for_each(Stepped::index);
                Ok(())
            }
            Event::Checkpoint => {
                let written = self.exchange.as_ref().map(Stepped::checkpoint);
                if written.is_some_and(|written| written.is_ok()) {
                    self.report.count("checkpoints");
                }
                Ok(())
            }
            Event::Fail(operation, cause, passing) => {
                self.report.count("disk faults set");
                self.disk.fail_after(passing, operation, cause);
                Ok(())
            }
            Event::PowerOff { passing } => {
                if self.plan.settings.durability == Durability::Fsync {
                    self.disk.power_off_after(passing);
                }
                Ok(())
            }
            Event::Crash { end, clock_ms } => self.crash(end, clock_ms),
        }
    }

    fn call(&mut self, ask: Call) -> Verdict {
        self.send(ask, Bytes::new())
    }

    fn send(&mut self, ask: Call, envelope: Bytes) -> Verdict {
        let Some(exchange) = &self.exchange else {
            return Ok(());
        };
        self.calls += 1;
        let call = self.calls;
        let readers = Readers::clone(&self.readers);
        let answering = door::call(exchange.handle(), readers, ask.clone(), envelope);
        self.note(What::Called {
            call,
            ask: ask.clone(),
        });
        self.model.called(call, &ask);
        self.pending.push(Pending {
            call,
            ask,
            answering,
            is_parked: false,
        });
        // Polled once, it is in the queue.
        self.listen()
    }

    /// Takes every answer that is there. The loop serves those who wait there last.
    fn listen(&mut self) -> Verdict {
        let _home = self.runtime.enter();
        let mut context = Context::from_waker(Waker::noop());
        let mut answers = Vec::new();
        let mut kept = Vec::with_capacity(self.pending.len());
        for mut one in std::mem::take(&mut self.pending) {
            match one.answering.as_mut().poll(&mut context) {
                Poll::Pending => kept.push(one),
                // What a dying exchange refuses is never heard.
                Poll::Ready(Answer::Refused(_)) if self.is_ending || self.disk.is_off() => {
                    let now = self.clock.now().as_millis();
                    self.model.unheard(now, &one.ask);
                }
                Poll::Ready(answer) => answers.push((one.is_parked, one.call, one.ask, answer)),
            }
        }
        self.pending = kept;
        answers.sort_by_key(|(is_parked, call, ..)| (*is_parked, *call));
        answers
            .into_iter()
            .try_for_each(|(_, call, ask, answer)| self.hear(call, &ask, answer))
    }

    fn hear(&mut self, call: u64, ask: &Call, answer: Answer) -> Verdict {
        match &answer {
            Answer::Receipt { duplicate, .. } => {
                self.report.count("receipts");
                self.report.add("duplicates", u64::from(*duplicate));
            }
            Answer::Delivered(deliveries) => {
                self.report.add("deliveries", deliveries.len() as u64);
                let again = deliveries.iter().filter(|one| one.attempt > 1).count();
                self.report.add("redeliveries", again as u64);
                let ids = deliveries.iter().map(|one| one.delivery.clone());
                self.deliveries.extend(ids);
            }
            Answer::Settled(results) => {
                let settled = results.iter().filter(|result| result.is_none()).count();
                self.report.add("settled", settled as u64);
                let late = results.len() - settled;
                self.report.add("late settlements refused", late as u64);
            }
            Answer::Refused(code) => {
                self.report.count("refusals");
                self.report
                    .add("refused as overloaded", u64::from(code == "overloaded"));
            }
            Answer::Dead(letters) => {
                self.report.add("dead letters listed", letters.len() as u64);
                let ids = letters.iter().map(|one| one.letter.clone());
                self.letters = ids.collect();
            }
            Answer::Journal(messages) => self.advance(ask, messages),
            Answer::Done => {
                if let Call::Redrive { .. } = ask {
                    self.report.count("redriven");
                }
            }
        }
        let now = self.clock.now().as_millis();
        let verdict = self.model.answered(now, call, ask, &answer);
        self.note(What::Answered { call, answer });
        verdict.map_err(|broken| format!("call {call}: {broken}"))
    }

    /// A reader knows how far it is.
    fn advance(&mut self, ask: &Call, messages: &[Stored]) {
        if let (Call::Next { reader, .. }, Some(last)) = (ask, messages.last()) {
            self.report.add("followed", messages.len() as u64);
            let mut known = self.followed.iter_mut();
            if let Some((_, _, position)) = known.find(|(one, ..)| one == reader) {
                *position = last.sequence;
            }
        }
    }

    fn notice(&mut self, has_failed: bool) {
        if has_failed && !self.has_failed {
            self.has_failed = true;
            self.report.count("storage failures");
        }
    }

    fn step(&mut self) -> Verdict {
        let Some(exchange) = &mut self.exchange else {
            return Ok(());
        };
        exchange.step();
        let is_idle = exchange.is_idle();
        let has_failed = exchange.handle().readiness().is_err();
        self.listen()?;
        if has_failed {
            self.notice(true);
            self.model.failed();
        }
        if is_idle && !self.disk.is_off() {
            let now = self.clock.now().as_millis();
            self.pending.iter_mut().for_each(|one| one.is_parked = true);
            self.model
                .idle(now, self.pending.iter().map(|one| &one.ask))?;
        }
        Ok(())
    }

    fn abandon(&mut self, which: u64) -> Verdict {
        let waits = |one: &Pending| matches!(one.ask, Call::Pull { .. } | Call::Next { .. });
        let waiting: Vec<usize> = (0..self.pending.len())
            .filter(|at| waits(&self.pending[*at]))
            .collect();
        if let Some(at) = one_of(&waiting, which) {
            let gone = self.pending.remove(*at);
            self.report.count("callers who went away");
            self.note(What::Abandoned { call: gone.call });
            self.model.unheard(self.clock.now().as_millis(), &gone.ask);
            let _home = self.runtime.enter();
            drop(gone);
        }
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.exchange.as_ref().is_none_or(Stepped::is_idle)
    }

    /// A consumer leaves that asks for nothing at the moment.
    fn leave(&mut self, place: u64, consumer: u64, is_dead: bool) -> Verdict {
        let (leaves, who) = (self.place(place), consumer_of(consumer));
        let asks = |one: &Pending| match &one.ask {
            Call::Pull {
                place, consumer, ..
            } => *place == leaves && *consumer == who,
            _ => false,
        };
        if self.pending.iter().any(asks) {
            return Ok(());
        }
        self.call(Call::Leave {
            place: leaves,
            consumer: who,
            is_dead,
        })
    }

    /// Somebody new, or somebody who was there before and goes on.
    fn follow(&mut self, which: u64) -> Verdict {
        let (wants, after) = match one_of(&self.followed, which / 2) {
            Some((_, wants, position)) if which.is_multiple_of(2) => (wants.clone(), *position),
            _ => (wants(index(which / 2, SLOTS)), 0),
        };
        let reader = self.calls + 1;
        self.followed.push((reader, wants.clone(), after));
        self.call(Call::Follow {
            reader,
            wants,
            after,
        })
    }

    fn settle(&mut self, which: u64, count: usize, how: How) -> Verdict {
        // Mostly what was handed out lately; now and then something older.
        let known = self.deliveries.len();
        let recent = known.min(5);
        let start = match which % 8 {
            0 => index(which / 8, known.max(1)),
            _ => known - recent + index(which / 8, recent.max(1)),
        };
        let deliveries: Vec<String> = self
            .deliveries
            .iter()
            .skip(start)
            .take(count)
            .cloned()
            .collect();
        if deliveries.is_empty() {
            return Ok(());
        }
        self.call(Call::Settle { deliveries, how })
    }

    fn crash(&mut self, end: End, clock_ms: i64) -> Verdict {
        let is_synced = self.plan.settings.durability == Durability::Fsync;
        let exchange = self.exchange.take();
        match (end, exchange) {
            (End::Close, Some(exchange)) => {
                self.report.count("orderly stops");
                exchange.close();
                self.is_ending = true;
                self.listen()?;
                self.is_ending = false;
            }
            (End::PowerLoss, exchange) if is_synced => {
                self.report.count("power losses");
                drop(exchange);
                self.disk.power_off_after(0);
            }
            (_, exchange) => {
                self.report.count("kills");
                drop(exchange);
            }
        }
        self.disk.clear_faults();
        if self.disk.is_off() {
            self.disk = self.disk.crash();
        }
        let now = self.clock.now().as_millis();
        self.model
            .died(now, self.pending.iter().map(|one| &one.ask));
        let _home = self.runtime.enter();
        self.pending.clear();
        self.readers.borrow_mut().clear();
        drop(_home);
        self.note(What::Died);
        self.clock.set(self.clock.now().plus_millis(clock_ms));
        self.has_failed = false;
        self.open()
    }

    fn open(&mut self) -> Verdict {
        self.lives += 1;
        let opened = Stepped::open_on(
            Arc::new(self.disk.clone()),
            self.plan.settings.clone(),
            self.clock.clone(),
            self.lives,
        );
        match opened {
            Ok(exchange) => {
                self.exchange = Some(exchange);
                self.model.resumed(self.clock.now().as_millis());
                Ok(())
            }
            Err(error) => Err(format!("it does not open again: {error}")),
        }
    }

    /// Lets everything come to its end: what is owed comes, and stays away after it was acknowledged.
    fn come_to_rest(&mut self) -> Verdict {
        self.crash(End::Kill, 1)?;
        for place in self.places() {
            let is_paused = false;
            self.call(Call::Pause { place, is_paused })?;
        }
        self.finish()?;
        self.drain()?;
        // What waits for its next attempt, comes.
        self.happen(Event::Pass { ms: LONG_MS })?;
        self.drain()?;
        self.call(Call::Read)?;
        self.model.ended(self.clock.now().as_millis())?;
        self.crash(End::PowerLoss, 1)?;
        self.call(Call::Read)?;
        for place in self.places() {
            self.call(Call::DeadLetters { place })?;
            self.finish()?;
            for letter in std::mem::take(&mut self.letters) {
                self.call(Call::Drop { letter })?;
            }
            self.finish()?;
        }
        self.crash(End::PowerLoss, 1)?;
        self.happen(Event::Pass { ms: LONG_MS })?;
        self.drain()
    }

    fn drain(&mut self) -> Verdict {
        for place in self.places() {
            loop {
                let before = self.deliveries.len();
                self.call(Call::Pull {
                    place: place.clone(),
                    consumer: None,
                    max: 100,
                    wait: false,
                })?;
                self.finish()?;
                let deliveries = self.deliveries.split_off(before);
                if deliveries.is_empty() {
                    break;
                }
                self.report
                    .add("drained at the end", deliveries.len() as u64);
                let how = How::Ack;
                self.call(Call::Settle { deliveries, how })?;
                self.finish()?;
            }
        }
        Ok(())
    }

    /// Takes turns until every call has its answer.
    fn finish(&mut self) -> Verdict {
        for _ in 0..1_000 {
            if self.pending.is_empty() {
                return Ok(());
            }
            self.step()?;
        }
        Err("a call is never answered".into())
    }

    fn note(&mut self, what: What) {
        let at = self.clock.now().as_millis();
        self.history.push(Line { at, what });
    }
}

/// Subscriptions that there may be at one time.
const SLOTS: usize = 4;
/// Longer than any lease, any wait between attempts and any task here; shorter than what the clock is set
/// back by over a restart, so that nothing may wait for the time of an earlier life.
const LONG_MS: i64 = 3_600_000;

impl World {
    fn subscribe(&self, slot: u64, is_other: bool) -> Call {
        let at = index(slot, SLOTS);
        Call::Subscribe {
            name: self.name(at),
            wants: wants(if is_other { at + 1 } else { at }),
            deliver_to: (at == 3).then(|| "human:h".to_owned()),
            terms: self.plan.terms[at % 3],
        }
    }

    fn name(&self, at: usize) -> String {
        format!("watch-{at}-{}", self.generations[at])
    }

    fn places(&self) -> Vec<Place> {
        let inboxes = PARTIES.iter().map(|party| inbox(party));
        let names = (0..SLOTS).map(|at| subscription(&self.name(at)));
        inboxes.chain(names).collect()
    }

    fn place(&self, number: u64) -> Place {
        let places = self.places();
        places[index(number, places.len())].clone()
    }
}

fn wants(at: usize) -> Wants {
    let all = [
        Wants::Everything,
        Wants::Target("bus:ops".into()),
        Wants::Topic("ops.state".into()),
        Wants::Conversation("conversation-2".into()),
    ];
    all[at % all.len()].clone()
}

fn consumer_of(number: u64) -> Option<String> {
    (number > 0).then(|| format!("worker-{number}"))
}

fn one_of<T>(from: &[T], number: u64) -> Option<&T> {
    from.get(index(number, from.len().max(1)))
}

fn index(number: u64, length: usize) -> usize {
    usize::try_from(number % (length as u64)).unwrap_or(0)
}
