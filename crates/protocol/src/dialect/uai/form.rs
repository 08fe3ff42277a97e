//! The three forms of a message, and writing it in another form or carriage.
//!
//! All forms of a message have one canonical hash (UAI 2 F7); another carriage is another text of the same
//! message, or one for each recipient. Implements UAI 2 F1, F7, F8 and the conversions of UAI 8.

use super::carriage::{By, Carriage, carry};
use super::keyless;
use crate::json::{self, Kind, Value};
use crate::{Fault, Rejection};

/// The three forms (UAI 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An object, with space between its parts.
    Keyed,
    /// An object without such space.
    MinifiedKeyed,
    /// An array in table order.
    Keyless,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Keyed, Self::MinifiedKeyed, Self::Keyless];

    /// The word of requests and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keyed => "keyed",
            Self::MinifiedKeyed => "minified-keyed",
            Self::Keyless => "keyless",
        }
    }

    /// The form of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == word)
    }

    /// The form a message is in; none for what is neither an object nor an array.
    #[must_use]
    pub fn of(message: Value<'_>) -> Option<Self> {
        match message.kind() {
            Kind::Array => Some(Self::Keyless),
            Kind::Object if is_minified(message.raw()) => Some(Self::MinifiedKeyed),
            Kind::Object => Some(Self::Keyed),
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
        }
    }

    /// Whether a message in the form `other` passes for this one: a minified message is a keyed one.
    pub(super) fn takes(self, other: Self) -> bool {
        self == other || (self == Self::Keyed && other == Self::MinifiedKeyed)
    }
}

/// Whether checked JSON has no space outside its strings.
fn is_minified(text: &str) -> bool {
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => return false,
            _ => {}
        }
    }
    true
}

/// Checked JSON without the space outside its strings.
fn minified(text: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |letter: &char| {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => in_string = !in_string,
            ' ' | '\t' | '\n' | '\r' if !in_string => return false,
            _ => {}
        }
        true
    };
    text.chars().filter(is_kept).collect()
}

/// A valid message in another carriage and form, written by its sender; several texts where it becomes
/// copies. What is not named stays as it is.
///
/// # Errors
/// As [`carry`] and [`keyless::to_keyless`].
pub fn convert(
    text: &[u8],
    carriage: Option<Carriage>,
    form: Option<Form>,
) -> Result<Vec<String>, Rejection> {
    let document = json::read(text, ANY_LENGTH)?;
    let was = Form::of(document.root());
    let keyed = match was {
        Some(Form::Keyless) => keyless::to_keyed(document.root()).map_err(refused)?,
        _ => document.root().raw().to_owned(),
    };
    let document = json::read(keyed.as_bytes(), ANY_LENGTH)?;
    let texts = match carriage {
        Some(carriage) => carry(document.root(), carriage, By::Sender)?,
        None => vec![keyed.clone()],
    };
    let form = form.or(was.filter(|form| *form == Form::Keyless));
    let in_form = |text: String| match form {
        None | Some(Form::Keyed) => Ok(text),
        Some(Form::MinifiedKeyed) => Ok(minified(&text)),
        Some(Form::Keyless) => {
            let document = json::read(text.as_bytes(), ANY_LENGTH)?;
            Ok(minified(
                &keyless::to_keyless(document.root()).map_err(refused)?,
            ))
        }
    };
    texts.into_iter().map(in_form).collect()
}

/// What was read before is read again whatever its length.
const ANY_LENGTH: json::Limits = json::Limits {
    bytes_max: usize::MAX,
    depth_max: usize::MAX,
};

fn refused(faults: Vec<Fault>) -> Rejection {
    let none = || {
        let detail = "expected an envelope, got another value";
        Fault::new(crate::Code::KeylessShape, "", "UAI 2 F3", detail).into()
    };
    Rejection::from_faults(faults).unwrap_or_else(none)
}
