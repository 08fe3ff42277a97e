//! The part of the handle that traces conversations: finds a trace's messages through the index, reads
//! them and what became of them, and asks the loop for what no record tells.

use crate::handle::{Handle, Shared};
use crate::recent::Recent;
use crate::tail::unreadable;
use exchange::trace::{Ask, Found, Gather, Offered, Query, Trace};
use exchange::{DeliveryState, PlaceId, Record};
use protocol::{AeePolicy, Code, Fault, Intake, Mode, Rejection, Rules, dialect};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Deliveries whose present holder is asked for.
const OPEN_MAX: usize = 16_384;
/// Of these, how many in one turn of the loop.
const ASKED_MAX: usize = 512;

impl Handle {
    /// Everything that belongs to the conversation, message, task or correlation of that name.
    ///
    /// # Errors
    /// `not_found`; `ambiguous_id` with the candidates when the name stands for several things;
    /// `overloaded` when many are traced at once.
    pub async fn trace(&self, query: Query) -> Result<Trace, Rejection> {
        let patience = Duration::from_millis(self.settings().queue_wait_ms);
        let permit = timeout(patience, self.shared.traces.acquire());
        let Ok(Ok(_permit)) = permit.await else {
            let detail = "expected a free place to trace in, got none in time; try again shortly";
            return Err(Fault::new(Code::Overloaded, "", "ARCHITECTURE limits", detail).into());
        };
        let shared = Arc::clone(&self.shared);
        let mut trace = self.shared.aside(move || shared.trace(query)).await?;
        self.name_places(&mut trace).await?;
        self.ask_holders(&mut trace).await?;
        Ok(*trace)
    }

    async fn name_places(&self, trace: &mut Trace) -> Result<(), Rejection> {
        for places in trace.places().chunks(ASKED_MAX) {
            let names = self.place_names(places.to_vec()).await?;
            for (place, name) in places.iter().zip(names) {
                trace.name(*place, name);
            }
        }
        Ok(())
    }

    /// Who holds what is not over: leases are not records.
    async fn ask_holders(&self, trace: &mut Trace) -> Result<(), Rejection> {
        for open in trace.open(OPEN_MAX).chunks(ASKED_MAX) {
            let asked: Vec<(u64, PlaceId)> = open.to_vec();
            let states: Vec<Option<DeliveryState>> = self
                .look(move |exchange| {
                    let state = |(sequence, place)| exchange.delivery_state(place, sequence);
                    asked.into_iter().map(state).collect()
                })
                .await?;
            for ((sequence, place), state) in open.iter().zip(states) {
                trace.stands(*sequence, *place, state.as_ref());
            }
        }
        Ok(())
    }
}

impl Shared {
    /// What the journal says, as far as it goes now.
    fn trace(&self, query: Query) -> Result<Box<Trace>, Rejection> {
        let (_, last) = self.reader.range();
        let applied = self.index.lock().applied().min(last);
        let recent = Recent::read(self, applied, last)?;
        let text = query.text.clone();
        let mut gather = Gather::new(query);
        while let Some(ask) = gather.ask() {
            let (found, more) = self.look_up(&ask, applied, &recent)?;
            let unknown: Vec<u64> = found
                .into_iter()
                .filter(|sequence| !gather.knows(*sequence))
                .collect();
            self.each_at(&unknown, |record| offer(&mut gather, record).map(|()| true))?;
            gather.answered(&ask, more);
        }
        let mut trace = match gather.finish() {
            Found::Trace(trace) => trace,
            Found::Nothing => return Err(nothing(&text)),
            Found::Several(several) => return Err(ambiguous(&text, &several)),
        };
        self.tell_facts(&mut trace, applied, &recent)?;
        Ok(trace)
    }

    /// Candidates, and the last of them when more may follow.
    fn look_up(
        &self,
        ask: &Ask,
        applied: u64,
        recent: &Recent,
    ) -> Result<(Vec<u64>, Option<u64>), Rejection> {
        let (mut found, after, limit) = match ask {
            Ask::Id(id) => {
                let (mut found, _) = self.candidates(|index| index.named(id))?;
                found.retain(|sequence| *sequence <= applied);
                found.extend(recent.named(id));
                return Ok((found, None));
            }
            Ask::Mention { text, after, limit } => {
                let mut last = None;
                let (found, _) = self.candidates(|index| {
                    let found = index.mentioning(text, *after, *limit)?;
                    last = found.last().copied().filter(|_| found.len() == *limit);
                    Ok(found)
                })?;
                if let Some(last) = last.filter(|last| *last <= applied) {
                    return Ok((found, Some(last)));
                }
                (found, *after, *limit)
            }
        };
        found.retain(|sequence| *sequence <= applied);
        let Ask::Mention { text, .. } = ask else {
            return Ok((found, None));
        };
        let newer = recent.mentioning(text).filter(|sequence| *sequence > after);
        let newer: Vec<u64> = newer.take(limit).collect();
        let last = newer.last().copied().filter(|_| newer.len() == limit);
        found.extend(newer);
        Ok((found, last))
    }

    /// Reads every record that says what became of the trace's messages, once, in order.
    fn tell_facts(
        &self,
        trace: &mut Trace,
        applied: u64,
        recent: &Recent,
    ) -> Result<(), Rejection> {
        let mut records = BTreeSet::new();
        for sequence in trace.sequences().take_while(|at| *at <= applied) {
            let (facts, _) = self.facts(sequence)?;
            records.extend(facts.into_iter().filter(|record| *record <= applied));
        }
        let mut records: Vec<u64> = records.into_iter().collect();
        records.extend(&recent.facts);
        self.each_at(&records, |record| {
            match Record::decode(record.kind, &record.body) {
                Ok(record) => {
                    trace.happened(&record);
                    Ok(true)
                }
                Err(error) => {
                    let sequence = record.sequence;
                    tracing::error!(sequence, what = error.0, "a record cannot be read");
                    Err(unreadable())
                }
            }
        })
    }
}

fn offer(gather: &mut Gather, record: &journal::Record) -> Result<(), Rejection> {
    if record.kind != Record::PUBLISHED {
        return Ok(());
    }
    match Record::decode(record.kind, &record.body) {
        Ok(Record::Published {
            at,
            header,
            recipients,
            places,
            envelope,
            ..
        }) => {
            let rules = Rules {
                mode: Mode::Lenient,
                aee_policy: match header.intake {
                    Intake::Work => AeePolicy::Either,
                    Intake::Log => AeePolicy::Log,
                },
                aep_accept_0_1: true,
                envelope_bytes_max: usize::MAX,
                ..Rules::at(at)
            };
            let reading = dialect::decode_as(&envelope, header.dialect, &rules);
            let mut warnings: Vec<Code> = Vec::new();
            for fault in &reading.warnings {
                if !warnings.contains(&fault.code) {
                    warnings.push(fault.code);
                }
            }
            gather.offer(&Offered {
                sequence: record.sequence,
                at,
                header: &header,
                recipients: &recipients,
                places: &places,
                warnings: &warnings,
            });
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) => {
            let sequence = record.sequence;
            tracing::error!(sequence, what = error.0, "a message cannot be read");
            Err(unreadable())
        }
    }
}

fn nothing(text: &str) -> Rejection {
    let detail =
        format!("expected the id of a conversation, message, task or correlation, got {text:?}");
    Fault::new(Code::NotFound, "", "ARCHITECTURE traces", detail).into()
}

fn ambiguous(text: &str, several: &[exchange::trace::Candidate]) -> Rejection {
    let mut detail = format!(
        "expected the id of one conversation, or ?by= and ?sender= with {text:?}, which is"
    );
    for (at, candidate) in several.iter().enumerate() {
        detail.push_str(if at > 0 { ", " } else { " " });
        let _ = write!(detail, "a {}", candidate.by.as_str());
        match &candidate.conversation {
            Some(conversation) => {
                let _ = write!(detail, " in conversation {conversation:?}");
            }
            None => detail.push_str(" in no conversation"),
        }
        let _ = write!(detail, " by {}", candidate.sender);
    }
    Fault::new(Code::AmbiguousId, "", "ARCHITECTURE traces", detail).into()
}
