//! The public reference surface of UAI-1, as pure functions: what each of its routes answers.
//!
//! Our own words and data throughout: no text, schema or example of UAIX is copied (UAI 10 G21). The HTTP
//! door puts these behind `/uaix/v1`. Implements UAI 7.

mod examples;
mod mock;
mod pack;
mod registry;
mod schema;
mod verdict;

pub use super::form::Form;
pub use verdict::{Ask, Verdict, judge};

use super::body::PROFILES;
use super::field_order::FieldOrder;
use crate::{Fault, Rejection, Rules};

/// The known profiles, in the order in which they were published.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.id)
}

/// One member of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyMember {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it holds, in words for people.
    pub holds: String,
}

/// The body of a profile, member by member in keyless order; none for a profile that is not known.
#[must_use]
pub fn body(profile: &str) -> Option<Vec<BodyMember>> {
    let member = |(name, is_required, holds)| BodyMember {
        name,
        is_required,
        holds,
    };
    Some(schema::members(profile)?.into_iter().map(member).collect())
}

/// The JSON Schema (2020-12) of a whole message of that profile, as the strict mode reads it.
#[must_use]
pub fn schema(profile: &str) -> Option<String> {
    schema::schema(profile)
}

/// A valid message of that profile: keyed, without space, always the same.
#[must_use]
pub fn example(profile: &str) -> Option<String> {
    examples::example(profile)
}

/// The registry of profiles, forms, extensions and features. `base` is the path that links begin with.
#[must_use]
pub fn registry(base: &str) -> String {
    registry::registry(base)
}

/// The order tables of the keyless form, in the published shape.
#[must_use]
pub fn field_registry() -> String {
    FieldOrder::ours().write()
}

/// Trust channels, with what each needs.
#[must_use]
pub fn trust_channels() -> String {
    registry::trust_channels()
}

/// Codes, with the status of each that this build gives.
#[must_use]
pub fn error_registry() -> String {
    registry::error_registry()
}

/// Conformance levels, with those that are met here.
#[must_use]
pub fn conformance_levels() -> String {
    registry::conformance_levels()
}

/// Fixtures for other readers: every example in three forms, and messages that must be refused.
///
/// # Errors
/// Never, as the tests show.
pub fn conformance_pack() -> Result<String, Fault> {
    pack::pack()
}

/// The deterministic reply to a message, or to a wrapper with one.
///
/// # Errors
/// As [`judge`]; and everything that is wrong with the message.
pub fn mock_exchange(text: &[u8], ask: Ask, rules: &Rules) -> Result<String, Rejection> {
    let verdict = judge(text, ask, rules)?;
    match Rejection::from_faults(verdict.reading.faults.clone()) {
        Some(refused) => Err(refused),
        None => Ok(mock::reply(&verdict)?),
    }
}
