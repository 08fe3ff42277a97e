//! The sentences of shape faults: what was expected, what came.

use super::{Clock, Want};
use crate::json::Value;

/// Characters of a text shown in a sentence.
const SHOWN_MAX: usize = 40;

/// Words of an enumeration shown in a sentence.
const WORDS_MAX: usize = 12;

/// Completes "expected ...".
pub(super) fn phrase(want: &Want) -> String {
    match *want {
        Want::Any => "a value".into(),
        Want::Bool => "a boolean".into(),
        Want::Object | Want::Nested(_) => "an object".into(),
        Want::Str {
            min: 0,
            max: usize::MAX,
        } => "a string".into(),
        Want::Str { min, max } => format!("a string{}", bounds(min, max, usize::MAX, "character")),
        Want::Text(grammar) => grammar.expected.into(),
        Want::Num { min, max } => format!(
            "a number{}",
            range(&min, &max, min.is_finite(), max.is_finite())
        ),
        Want::Int { min, max } => {
            format!(
                "an integer{}",
                range(&min, &max, min != i64::MIN, max != i64::MAX)
            )
        }
        Want::Enum([word]) => format!("`{word}`"),
        Want::Enum(words) => one_of(words),
        Want::Time(Clock::Rfc3339) => "an RFC 3339 time with a zone".into(),
        Want::Time(Clock::UtcZ) => "an RFC 3339 time in UTC with a literal `Z`".into(),
        Want::Array { min, max, .. } => format!("an array{}", bounds(min, max, usize::MAX, "item")),
        Want::OneOf(choices) => either(choices),
    }
}

/// The phrases of several choices, each once.
pub(super) fn either(choices: &[Want]) -> String {
    let mut phrases: Vec<String> = Vec::new();
    for choice in choices {
        let text = phrase(choice);
        if !phrases.contains(&text) {
            phrases.push(text);
        }
    }
    match phrases.len() {
        0 => "nothing".into(),
        _ => phrases.join(" or "),
    }
}

/// What came: its text, cut when it is long.
pub(super) fn excerpt(value: Value<'_>) -> String {
    let raw = value.raw();
    match raw.char_indices().nth(SHOWN_MAX) {
        Some((cut, _)) => format!("{}...", raw.get(..cut).unwrap_or_default()),
        None => raw.into(),
    }
}

fn one_of(words: &[&str]) -> String {
    let mut text = String::from("one of ");
    for (at, word) in words.iter().take(WORDS_MAX).enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push('`');
        text.push_str(word);
        text.push('`');
    }
    if words.len() > WORDS_MAX {
        text.push_str(&format!(" or {} more", words.len() - WORDS_MAX));
    }
    text
}

fn bounds(min: usize, max: usize, unbounded: usize, unit: &str) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    if max == unbounded {
        match min {
            0 => String::new(),
            _ => format!(" of at least {min} {unit}{}", plural(min)),
        }
    } else if min == max {
        format!(" of {max} {unit}{}", plural(max))
    } else {
        format!(" of {min} to {max} {unit}{}", plural(max))
    }
}

fn range(
    min: &dyn std::fmt::Display,
    max: &dyn std::fmt::Display,
    low: bool,
    high: bool,
) -> String {
    match (low, high) {
        (true, true) => format!(" from {min} to {max}"),
        (true, false) => format!(" of at least {min}"),
        (false, true) => format!(" of at most {max}"),
        (false, false) => String::new(),
    }
}
