//! The directory: cards of agents, and whether each agent is there.
//!
//! Cards are a fold over records. That an agent is there is not stored: every word of it (a publish, a
//! pull) renews its lease in memory. After a start nobody is called offline before one whole lease.

mod snapshot;

pub(crate) use snapshot::card_from;

use crate::exchange::Exchange;
use crate::outcome::Outcome;
use crate::publish::wildcard_prefix;
use crate::record::Record;
use protocol::{Announcement, Card, Code, DialectName, Fault, Header, Party, Rejection, Timestamp};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// How far the directory goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryLimits {
    /// Most agents with a card.
    pub agents_max: usize,
    /// Bytes of one card.
    pub card_bytes_max: usize,
    /// Bytes of all cards.
    pub cards_bytes_max: usize,
    /// How long an agent counts as there without a word, in milliseconds, when its card does not say.
    pub lease_ms: i64,
}

impl Default for DirectoryLimits {
    /// 10,000 agents, 256 KiB a card, 64 MiB of cards, 60 s.
    fn default() -> Self {
        Self {
            agents_max: 10_000,
            card_bytes_max: 256 << 10,
            cards_bytes_max: 64 << 20,
            lease_ms: 60_000,
        }
    }
}

/// Where a card comes from. An agent has at most one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CardSource {
    /// It was put by name, and stays until it is removed.
    Registered,
    /// The agent said so in an envelope of this dialect.
    Announced(DialectName),
}

impl CardSource {
    pub(crate) const ALL: [Self; 4] = [
        Self::Registered,
        Self::Announced(DialectName::Aee),
        Self::Announced(DialectName::Aep),
        Self::Announced(DialectName::Uai),
    ];

    /// The word on every surface: `registered`, or the dialect.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Announced(dialect) => dialect.as_str(),
        }
    }
}

/// Whether an agent is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// It spoke within half its lease, or waits for messages.
    Online,
    /// Half its lease is over, or it has not spoken since the exchange started.
    Stale,
    /// Its lease is over.
    Offline,
}

impl Presence {
    /// Every state, the best first.
    pub const ALL: [Self; 3] = [Self::Online, Self::Stale, Self::Offline];

    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Stale => "stale",
            Self::Offline => "offline",
        }
    }
}

/// One agent with its cards.
#[derive(Clone, Debug)]
pub struct AgentView {
    /// Who.
    pub party: Party,
    /// Its cards with where they come from: what was put first.
    pub cards: Vec<(CardSource, Arc<Card>)>,
    /// When its cards were last changed.
    pub changed_at: Timestamp,
    /// Whether it is there.
    pub presence: Presence,
    /// When it last spoke; `None` when that was before the exchange started.
    pub last_seen: Option<Timestamp>,
    /// How long it counts as there without a word, in milliseconds.
    pub lease_ms: i64,
}

/// Which agents are wanted: every field must pass, and a field with several words passes with one of
/// them. An empty field passes always.
#[derive(Clone, Debug, Default)]
pub struct AgentQuery {
    /// A skill by id, name or tag.
    pub skills: Vec<Box<str>>,
    /// A tag of the card or of a skill.
    pub tags: Vec<Box<str>>,
    /// An intent that it takes, or a pattern that ends in `.*`.
    pub intents: Vec<Box<str>>,
    /// A UAI-1 profile that it takes.
    pub profiles: Vec<Box<str>>,
    /// A feature that it understands.
    pub features: Vec<Box<str>>,
    /// A dialect that it speaks.
    pub dialects: Vec<DialectName>,
    /// Where it is, in its own words.
    pub locations: Vec<Box<str>>,
    /// The kind of party: `agent`, `human`, `service`.
    pub kinds: Vec<Box<str>>,
    /// Words that are all somewhere in its cards or its name.
    pub words: Box<str>,
    /// States that are wanted; when empty, all but offline.
    pub presence: Vec<Presence>,
}

impl AgentQuery {
    fn wants(&self, party: &Party, listed: &Listed) -> bool {
        let has = |words: &[Box<str>], test: &dyn Fn(&Card, &str) -> bool| {
            words.is_empty()
                || listed
                    .cards()
                    .any(|card| words.iter().any(|word| test(card, word)))
        };
        let is_among = |list: &[Box<str>], word: &str| list.iter().any(|own| **own == *word);
        (self.kinds.is_empty() || is_among(&self.kinds, party.kind().unwrap_or_default()))
            && (self.dialects.is_empty() || {
                let mut spoken = listed.cards().flat_map(|card| &card.dialects);
                spoken.any(|dialect| self.dialects.contains(dialect))
            })
            && has(&self.skills, &|card, word| {
                card.skills_like(word).next().is_some()
            })
            && has(&self.tags, &Card::has_tag)
            && has(&self.intents, &Card::takes)
            && has(&self.profiles, &|card, word| is_among(&card.profiles, word))
            && has(&self.features, &|card, word| is_among(&card.features, word))
            && has(&self.locations, &|card, word| {
                card.location.as_deref() == Some(word)
            })
            && self.words.split_whitespace().all(|word| {
                party.as_str().to_lowercase().contains(&word.to_lowercase())
                    || listed.cards().any(|card| card.mentions(word))
            })
    }

    fn wants_presence(&self, presence: Presence) -> bool {
        match &*self.presence {
            [] => presence != Presence::Offline,
            wanted => wanted.contains(&presence),
        }
    }
}

/// One agent.
#[derive(Debug)]
struct Listed {
    cards: BTreeMap<CardSource, Arc<Card>>,
    changed_at: Timestamp,
    /// Not stored.
    seen: Option<Timestamp>,
}

impl Listed {
    fn cards(&self) -> impl Iterator<Item = &Card> {
        self.cards.values().map(|card| &**card)
    }

    fn lease_ms(&self, limits: &DirectoryLimits) -> i64 {
        let own = self.cards().find_map(|card| card.lease_ms);
        own.unwrap_or(limits.lease_ms)
    }
}

/// Every agent that has a card, by name.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    listed: BTreeMap<Party, Listed>,
    bytes: usize,
    /// When the exchange started; not stored.
    started: Timestamp,
}

impl Directory {
    pub(crate) fn count(&self) -> usize {
        self.listed.len()
    }

    /// Puts a card in its place, whatever the limits: it was accepted.
    pub(crate) fn put(
        &mut self,
        at: Timestamp,
        party: &Party,
        source: CardSource,
        card: Arc<Card>,
    ) {
        let listed = self.listed.entry(party.clone()).or_insert_with(|| Listed {
            cards: BTreeMap::new(),
            changed_at: at,
            seen: None,
        });
        self.bytes += card.document().len();
        listed.changed_at = at;
        if let Some(old) = listed.cards.insert(source, card) {
            self.bytes -= old.document().len();
        }
    }

    /// Takes cards out: those of a source, else all.
    pub(crate) fn remove(&mut self, party: &Party, source: Option<CardSource>) {
        let Some(listed) = self.listed.get_mut(party) else {
            return;
        };
        let bytes = &mut self.bytes;
        listed.cards.retain(|own, card| {
            let stays = source.is_some_and(|source| source != *own);
            if !stays {
                *bytes -= card.document().len();
            }
            stays
        });
        if listed.cards.is_empty() {
            self.listed.remove(party);
        }
    }

    /// Whether a card of the party says that it has the feature.
    pub(crate) fn has_feature(&self, party: &Party, feature: &str) -> bool {
        let mut cards = self
            .listed
            .get(party)
            .into_iter()
            .flat_map(|listed| listed.cards.values());
        cards.any(|card| card.features.iter().any(|own| **own == *feature))
    }

    fn card(&self, party: &Party, source: CardSource) -> Option<&Arc<Card>> {
        self.listed.get(party)?.cards.get(&source)
    }

    fn presence(&self, now: Timestamp, listed: &Listed, limits: &DirectoryLimits) -> Presence {
        let lease = listed.lease_ms(limits);
        let since = listed.seen.unwrap_or(self.started);
        let age = now.as_millis().saturating_sub(since.as_millis());
        if age >= lease {
            Presence::Offline
        } else if listed.seen.is_none() || age >= lease / 2 {
            Presence::Stale
        } else {
            Presence::Online
        }
    }
}

impl Exchange {
    /// Says when the exchange started: nobody is offline before one whole lease after that.
    pub fn start_at(&mut self, now: Timestamp) {
        self.directory.started = now;
    }

    /// Notes that a party gave a sign of life. Of nobody without a card is anything kept.
    pub fn saw(&mut self, now: Timestamp, party: &Party) {
        if self.directory.listed.is_empty() {
            return;
        }
        if let Some(listed) = self.directory.listed.get_mut(party) {
            listed.seen = listed.seen.max(Some(now));
        }
    }

    /// Registers an agent's card; tells whether it is the first of its agent. The same card once more
    /// changes nothing.
    ///
    /// # Errors
    /// `identity_malformed` for a channel or a wildcard, `reserved_sender` for the exchange itself,
    /// `too_large` for the card, `overloaded` when the directory is full.
    pub fn put_card(
        &mut self,
        now: Timestamp,
        party: &Party,
        card: Card,
    ) -> Result<(bool, Outcome), Rejection> {
        check_party(party)?;
        let is_new = !self.directory.listed.contains_key(party);
        let record = self.list(now, party, CardSource::Registered, card)?;
        self.saw(now, party);
        let outcome = Outcome {
            records: record.into_iter().collect(),
            ..Outcome::default()
        };
        Ok((is_new, outcome))
    }

    /// Takes an agent out of the directory, with all its cards.
    ///
    /// # Errors
    /// `not_found`.
    pub fn remove_cards(&mut self, now: Timestamp, party: &Party) -> Result<Outcome, Rejection> {
        if !self.directory.listed.contains_key(party) {
            return Err(no_agent(party));
        }
        self.directory.remove(party, None);
        Ok(Outcome {
            records: vec![Record::CardRemoved {
                at: now,
                party: party.clone(),
                source: None,
            }],
            ..Outcome::default()
        })
    }

    /// One agent of the directory. `waits` tells whether a party waits for messages at this moment.
    #[must_use]
    pub fn agent(
        &self,
        now: Timestamp,
        party: &Party,
        waits: &dyn Fn(&Party) -> bool,
    ) -> Option<AgentView> {
        let listed = self.directory.listed.get(party)?;
        Some(self.view(now, party, listed, waits))
    }

    /// Agents that pass `query`, in the order of their names, after `after`, at most `limit`.
    #[must_use]
    pub fn agents(
        &self,
        now: Timestamp,
        query: &AgentQuery,
        after: Option<&Party>,
        limit: usize,
        waits: &dyn Fn(&Party) -> bool,
    ) -> Vec<AgentView> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.directory
            .listed
            .range::<Party, _>((from, Bound::Unbounded))
            .filter(|(party, listed)| query.wants(party, listed))
            .map(|(party, listed)| self.view(now, party, listed, waits))
            .filter(|view| query.wants_presence(view.presence))
            .take(limit)
            .collect()
    }

    fn view(
        &self,
        now: Timestamp,
        party: &Party,
        listed: &Listed,
        waits: &dyn Fn(&Party) -> bool,
    ) -> AgentView {
        let limits = &self.settings.directory;
        let waits = waits(party);
        AgentView {
            party: party.clone(),
            cards: listed
                .cards
                .iter()
                .map(|(source, card)| (*source, Arc::clone(card)))
                .collect(),
            changed_at: listed.changed_at,
            presence: if waits {
                Presence::Online
            } else {
                self.directory.presence(now, listed, limits)
            },
            last_seen: if waits { Some(now) } else { listed.seen },
            lease_ms: listed.lease_ms(limits),
        }
    }

    /// Takes up what a party says to the exchange itself, as in a session, without publishing it.
    pub fn hear(&mut self, now: Timestamp, header: &Header, envelope: &[u8]) -> Outcome {
        let mut outcome = Outcome::default();
        self.saw(now, &header.sender);
        self.take_announcement(now, header, envelope, &mut outcome);
        outcome
    }

    /// Takes up what a message says of its sender. What does not fit is let go: an announcement is
    /// never refused for it.
    pub(crate) fn take_announcement(
        &mut self,
        now: Timestamp,
        header: &Header,
        envelope: &[u8],
        outcome: &mut Outcome,
    ) {
        let bytes_max = self.settings.directory.card_bytes_max;
        let party = &header.sender;
        let source = CardSource::Announced(header.dialect);
        match protocol::announcement(header, envelope, bytes_max) {
            Some(Announcement::Card(card)) if check_party(party).is_ok() => {
                let record = self.list(now, party, source, *card);
                outcome.records.extend(record.ok().flatten());
                self.saw(now, party);
            }
            Some(Announcement::Withdrawn) if self.directory.card(party, source).is_some() => {
                self.directory.remove(party, Some(source));
                outcome.records.push(Record::CardRemoved {
                    at: now,
                    party: party.clone(),
                    source: Some(source),
                });
            }
            Some(_) | None => {}
        }
    }

    /// Lists a card; there is no record when it was listed like that before.
    fn list(
        &mut self,
        at: Timestamp,
        party: &Party,
        source: CardSource,
        card: Card,
    ) -> Result<Option<Record>, Rejection> {
        let limits = &self.settings.directory;
        let old = self.directory.card(party, source);
        if old.is_some_and(|old| **old == card) {
            return Ok(None);
        }
        let length = card.document().len();
        if length > limits.card_bytes_max {
            let max = limits.card_bytes_max;
            let detail = format!("expected a card of at most {max} bytes, got {length}");
            return Err(fault(Code::TooLarge, detail));
        }
        let kept = old.map_or(0, |old| old.document().len());
        let bytes = self.directory.bytes - kept + length;
        let is_known = self.directory.listed.contains_key(party);
        let is_full = !is_known && self.directory.count() >= limits.agents_max;
        if is_full || bytes > limits.cards_bytes_max {
            let (agents, bytes) = (limits.agents_max, limits.cards_bytes_max);
            let detail =
                format!("expected at most {agents} agents and {bytes} bytes of cards, got more");
            return Err(fault(Code::Overloaded, detail));
        }
        let card = Arc::new(card);
        self.directory.put(at, party, source, Arc::clone(&card));
        Ok(Some(Record::CardPut {
            at,
            party: party.clone(),
            source,
            card,
        }))
    }
}

fn check_party(party: &Party) -> Result<(), Rejection> {
    if party.as_str() == protocol::task::SERVICE {
        let detail = format!("expected an agent other than {party}, which is the exchange itself");
        return Err(fault(Code::ReservedSender, detail));
    }
    if party.is_channel() || wildcard_prefix(party).is_some() || party.as_str().is_empty() {
        let detail = format!("expected a party that can have an inbox, got `{party}`");
        return Err(fault(Code::IdentityMalformed, detail));
    }
    Ok(())
}

fn no_agent(party: &Party) -> Rejection {
    let detail = format!("expected an agent of the directory, got `{party}`");
    fault(Code::NotFound, detail)
}

fn fault(code: Code, detail: String) -> Rejection {
    Fault::new(code, "", "DIRECTORY", detail).into()
}
