//! Ids: what form one has, the time inside a ULID, and a source of ULIDs that never steps back.
//!
//! Ids are compared byte for byte. A form is a finding, never a reason to rewrite an id, and order
//! between messages never comes from the time inside one (AEE 1.5, 1.6).

use std::fmt;

use crate::Timestamp;

/// Crockford's digits: no I, L, O, U.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Characters of a ULID.
const ULID_LENGTH: usize = 26;

/// The latest moment a [`UlidSource`] writes, one millisecond below what 48 bits hold, so that there
/// is always room to count on.
const MILLIS_MAX: i64 = (1 << 48) - 2;

/// What an id looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdForm {
    /// 26 upper-case Crockford digits, the first 0 to 7.
    Ulid,
    /// 8-4-4-4-12 hexadecimal digits of either case.
    Uuid,
    /// Letters and digits, the first a letter, then `_` and a ULID.
    PrefixedUlid,
    /// Anything else.
    Opaque,
}

impl IdForm {
    /// The form of `id`.
    #[must_use]
    pub fn of(id: &str) -> Self {
        match id.rsplit_once('_') {
            None if Ulid::parse(id).is_some() => Self::Ulid,
            None if is_uuid(id) => Self::Uuid,
            Some((prefix, tail)) if is_prefix(prefix) && Ulid::parse(tail).is_some() => {
                Self::PrefixedUlid
            }
            None | Some(_) => Self::Opaque,
        }
    }

    /// The word used in reports: `ulid`, `uuid`, `prefixed-ulid`, `opaque`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ulid => "ulid",
            Self::Uuid => "uuid",
            Self::PrefixedUlid => "prefixed-ulid",
            Self::Opaque => "opaque",
        }
    }
}

/// The moment inside `id`, when its form is a ULID, with or without a prefix.
#[must_use]
pub fn ulid_time(id: &str) -> Option<Timestamp> {
    let ulid = match IdForm::of(id) {
        IdForm::Ulid => Ulid::parse(id),
        IdForm::PrefixedUlid => Ulid::parse(id.rsplit_once('_')?.1),
        IdForm::Uuid | IdForm::Opaque => None,
    }?;
    Some(ulid.time())
}

/// Whether `text` has 8 to 128 characters, all printable ASCII without space: an AEE id (AEE 1.5) or
/// a UAI-1 idempotency key (UAI 1.4).
#[must_use]
pub fn is_plain(text: &str) -> bool {
    (8..=128).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_graphic())
}

fn is_prefix(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|c| c.is_ascii_alphanumeric())
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == b'-',
            _ => c.is_ascii_hexdigit(),
        })
}

/// 48 bits of milliseconds, then 80 bits without meaning. Text order is value order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ulid(u128);

impl Ulid {
    /// Reads the 26 upper-case digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != ULID_LENGTH || text.as_bytes().first()? > &b'7' {
            return None;
        }
        text.bytes()
            .try_fold(0, |value, c| {
                let digit = DIGITS.iter().position(|&d| d == c)?;
                Some(value << 5 | digit as u128)
            })
            .map(Self)
    }

    /// All 128 bits.
    #[must_use]
    pub fn bits(self) -> u128 {
        self.0
    }

    /// The moment it carries.
    #[must_use]
    pub fn time(self) -> Timestamp {
        Timestamp::from_millis((self.0 >> 80) as i64)
    }
}

impl fmt::Display for Ulid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(ULID_LENGTH);
        for shift in (0..ULID_LENGTH).rev().map(|at| at * 5) {
            let digit = (self.0 >> shift) as usize & 31;
            text.push(char::from(DIGITS.get(digit).copied().unwrap_or(b'0')));
        }
        f.pad(&text)
    }
}

/// Makes ULIDs, each greater than all before it, whatever the clock and the random bits do.
#[derive(Clone, Debug, Default)]
pub struct UlidSource {
    last: Option<Ulid>,
}

impl UlidSource {
    /// The next id. The caller brings the moment and at least 80 random bits; bits above the lowest
    /// 80 are ignored. When the clock has not moved past the last id, the next one counts on from it;
    /// a full count carries into the milliseconds.
    pub fn next(&mut self, now: Timestamp, random: u128) -> Ulid {
        let millis = now.as_millis().clamp(0, MILLIS_MAX) as u128;
        let fresh = Ulid(millis << 80 | random & ((1 << 80) - 1));
        let next = match self.last {
            // Saturates only after 2^80 ids in one millisecond of the last year the form can hold.
            Some(last) if millis <= last.0 >> 80 => Ulid(last.0.saturating_add(1)),
            Some(_) | None => fresh,
        };
        self.last = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::{IdForm, Ulid, UlidSource, is_plain, ulid_time};
    use crate::Timestamp;
    use proptest::prelude::*;

    #[test]
    fn forms_follow_the_letter() {
        let cases = [
            ("01JFX7K2M4N8P1Q3R5S7T9V0W2", IdForm::Ulid),
            ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", IdForm::Ulid),
            ("8ZZZZZZZZZZZZZZZZZZZZZZZZZ", IdForm::Opaque),
            ("01jfx7k2m4n8p1q3r5s7t9v0w2", IdForm::Opaque),
            ("01JFX7K2M4N8P1Q3R5S7T9V0W", IdForm::Opaque),
            ("01EXAMPLE00000000000000001", IdForm::Opaque),
            ("CONV_01JFX7K0A2B4C6D8E0F2G4H6J8", IdForm::PrefixedUlid),
            ("evt_01JFX7K0A2B4C6D8E0F2G4H6J8", IdForm::PrefixedUlid),
            ("_01JFX7K0A2B4C6D8E0F2G4H6J8", IdForm::Opaque),
            ("1x_01JFX7K0A2B4C6D8E0F2G4H6J8", IdForm::Opaque),
            ("a_b_01JFX7K0A2B4C6D8E0F2G4H6J8", IdForm::Opaque),
            ("evt-01JFX7K0A2B4C6D8E0F2G4H6J8", IdForm::Opaque),
            ("018f2d5e-7c3a-7b44-9d51-0a1b2c3d4e5f", IdForm::Uuid),
            ("018F2D5E-7C3A-7B44-9D51-0A1B2C3D4E5F", IdForm::Uuid),
            ("018f2d5e7c3a7b449d510a1b2c3d4e5f", IdForm::Opaque),
            ("018f2d5e-7c3a-7b44-9d51-0a1b2c3d4e5g", IdForm::Opaque),
            ("01JFX7K2M4N8P1Q3R5S7T9V0W\u{e9}", IdForm::Opaque),
            ("", IdForm::Opaque),
        ];
        for (id, form) in cases {
            assert_eq!(IdForm::of(id), form, "{id}");
        }
    }

    #[test]
    fn the_time_inside_a_ulid_is_read() {
        let time = |id: &str| ulid_time(id).map(|moment| moment.to_string());
        assert_eq!(
            time("01JFX7K2M4N8P1Q3R5S7T9V0W2").as_deref(),
            Some("2024-12-24T21:01:29.604Z")
        );
        assert_eq!(
            time("CONV_01JFX7K0A2B4C6D8E0F2G4H6J8").as_deref(),
            Some("2024-12-24T21:01:27.234Z")
        );
        assert_eq!(time("018f2d5e-7c3a-7b44-9d51-0a1b2c3d4e5f"), None);
    }

    #[test]
    fn plain_text_is_8_to_128_printable_characters() {
        assert!(is_plain("abcdefg~") && is_plain(&"x".repeat(128)));
        for text in [
            "aaa-111",
            "has space",
            "tab\tinside",
            "umlaut-\u{e4}",
            &"x".repeat(129),
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }

    #[test]
    fn a_full_count_carries_and_still_grows() {
        let mut source = UlidSource::default();
        let now = Timestamp::from_millis(1_772_274_600_000);
        let full = source.next(now, u128::MAX);
        let carried = source.next(now, 0);
        assert!(carried > full);
        assert_eq!(carried.time(), now.plus_millis(1));
        assert_eq!(
            source.next(now.plus_millis(1), 9).time(),
            now.plus_millis(1)
        );
    }

    #[test]
    fn moments_outside_the_form_are_moved_to_its_edge() {
        let mut source = UlidSource::default();
        assert_eq!(
            source.next(Timestamp::from_millis(-5), 7).to_string(),
            "00000000000000000000000007"
        );
        let last = source.next(Timestamp::from_millis(i64::MAX), u128::MAX);
        assert!(source.next(Timestamp::from_millis(i64::MAX), u128::MAX) > last);
    }

    proptest! {
        #[test]
        fn ulids_grow_whatever_clock_and_chance_do(
            steps in prop::collection::vec((-5_000_i64..50, any::<u128>(), any::<bool>()), 1..200)
        ) {
            let (mut source, mut now) = (UlidSource::default(), 1_772_274_600_000);
            let mut last = String::new();
            for (step, random, is_worst) in steps {
                now += step;
                let random = if is_worst { u128::MAX } else { random };
                let next = source.next(Timestamp::from_millis(now), random).to_string();
                prop_assert!(next > last);
                prop_assert_eq!(IdForm::of(&next), IdForm::Ulid);
                last = next;
            }
        }

        #[test]
        fn ulid_text_reads_back(value in any::<u128>()) {
            let text = Ulid(value).to_string();
            prop_assert_eq!(Ulid::parse(&text), Some(Ulid(value)));
        }

        #[test]
        fn any_text_has_a_form(id in "\\PC{0,40}") {
            let is_ulid = matches!(IdForm::of(&id), IdForm::Ulid | IdForm::PrefixedUlid);
            prop_assert_eq!(ulid_time(&id).is_some(), is_ulid);
        }
    }
}
