//! Cards: what an agent says of itself, so that others find it.
//!
//! A card is a JSON object of our own ([`Card::read`] has its members) or an A2A card, version 1.0 or
//! 0.3, which is turned into one and kept inside it. Nothing here opens an address that a card names
//! (UAI 9.5 N5), and nothing says that what a card claims is true.

mod a2a;
mod announcement;
mod read;
#[cfg(test)]
mod tests;

pub use announcement::{Announcement, announcement};

use crate::{DialectName, Party};

/// The rule that faults of cards name.
const RULE: &str = "DIRECTORY";

/// How long a party without a word counts as there, at least and at most, in milliseconds.
pub const LEASE_MS: std::ops::RangeInclusive<i64> = 1_000..=604_800_000;

/// Something an agent can do, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its id, one of its agent.
    pub id: Box<str>,
    /// Its name for people.
    pub name: Box<str>,
    /// What it is about, in single words.
    pub tags: Vec<Box<str>>,
}

/// What an agent says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    document: Box<str>,
    /// Its name for people; empty when it gave none.
    pub name: Box<str>,
    /// How long it counts as there without a word, in milliseconds, when it says so.
    pub lease_ms: Option<i64>,
    /// What it can do, in words.
    pub skills: Vec<Skill>,
    /// The intents and operations that it takes.
    pub intents: Vec<Box<str>>,
    /// The dialects that it speaks.
    pub dialects: Vec<DialectName>,
    /// The UAI-1 profiles that it takes.
    pub profiles: Vec<Box<str>>,
    /// What it understands besides (UAI 9.6 K4).
    pub features: Vec<Box<str>>,
    /// What it is about, in single words.
    pub tags: Vec<Box<str>>,
    /// Where it is, in its own words.
    pub location: Option<Box<str>>,
}

impl Card {
    /// The card as canonical JSON; reading it gives this card again.
    #[must_use]
    pub fn document(&self) -> &str {
        &self.document
    }

    /// The ids of skills that match a word: a skill's id, its name or one of its tags, whatever the
    /// case.
    pub fn skills_like(&self, word: &str) -> impl Iterator<Item = &Skill> {
        let word = word.to_lowercase();
        self.skills.iter().filter(move |skill| {
            let is_it = |text: &str| text.to_lowercase() == word;
            is_it(&skill.id) || is_it(&skill.name) || skill.tags.iter().any(|tag| is_it(tag))
        })
    }

    /// Whether it is about a tag: the card as a whole, or one of its skills.
    #[must_use]
    pub fn has_tag(&self, tag: &str) -> bool {
        let is_it = |own: &str| own.eq_ignore_ascii_case(tag);
        let of_skills = self.skills.iter().flat_map(|skill| &skill.tags);
        self.tags.iter().chain(of_skills).any(|own| is_it(own))
    }

    /// Whether it takes an intent. A pattern that ends in `.*` takes all below, on either side.
    #[must_use]
    pub fn takes(&self, intent: &str) -> bool {
        let is_below = |pattern: &str, text: &str| {
            let prefix = pattern.strip_suffix('*');
            prefix.is_some_and(|prefix| prefix.ends_with('.') && text.starts_with(prefix))
        };
        let is_it = |own: &str| own == intent || is_below(own, intent) || is_below(intent, own);
        self.intents.iter().any(|own| is_it(own))
    }

    /// Whether every word is somewhere in it, whatever the case.
    #[must_use]
    pub fn mentions(&self, words: &str) -> bool {
        let text = self.document.to_lowercase();
        words
            .split_whitespace()
            .all(|word| text.contains(&word.to_lowercase()))
    }

    /// The card as an A2A card of version 1.0. One that came as such is given back as it came, so that
    /// its signatures hold; its own members are canonical JSON. `interfaces` are addresses with their
    /// bindings where it can be reached besides those it names.
    #[must_use]
    pub fn to_a2a(&self, party: &Party, interfaces: &[(String, &str)]) -> String {
        a2a::write(self, party, interfaces)
    }
}
