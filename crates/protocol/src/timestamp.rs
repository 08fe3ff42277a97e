//! Moments in milliseconds, and strict RFC 3339.

use std::fmt;

/// A moment: milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// Order between messages never comes from a timestamp; it comes from the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// How the zone of an RFC 3339 text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// A literal upper-case `Z`.
    Utc,
    /// An offset such as `+02:00`, or a lower-case `z`.
    Offset,
}

impl Timestamp {
    /// From milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This moment plus `millis`, saturating.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Strict RFC 3339 (`date-time` of section 5.6, upper-case `T`): a zone is required, the
    /// separator is `T`, fractions have 1 to 9 digits and are cut to milliseconds, second 60 counts
    /// as 59. `None` for anything else, including days that do not exist.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<(Self, Zone)> {
        let b = text.as_bytes();
        let two = |at: usize| -> Option<i64> {
            let (d, e) = (*b.get(at)?, *b.get(at + 1)?);
            (d.is_ascii_digit() && e.is_ascii_digit())
                .then(|| i64::from(d - b'0') * 10 + i64::from(e - b'0'))
        };
        let is = |at: usize, c: u8| (b.get(at) == Some(&c)).then_some(());
        let year = two(0)? * 100 + two(2)?;
        is(4, b'-')?;
        let month = two(5)?;
        is(7, b'-')?;
        let day = two(8)?;
        is(10, b'T')?;
        let hour = two(11)?;
        is(13, b':')?;
        let minute = two(14)?;
        is(16, b':')?;
        let second = two(17)?;
        if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let mut at = 19;
        let mut millis = 0;
        if b.get(at) == Some(&b'.') {
            at += 1;
            let start = at;
            let mut scale = 100;
            while let Some(digit) = b.get(at).filter(|c| c.is_ascii_digit()) {
                millis += i64::from(digit - b'0') * scale;
                scale /= 10;
                at += 1;
            }
            if !(1..=9).contains(&(at - start)) {
                return None;
            }
        }
        let (offset_minutes, zone, length) = match b.get(at)? {
            b'Z' => (0, Zone::Utc, 1),
            b'z' => (0, Zone::Offset, 1),
            sign @ (b'+' | b'-') => {
                let (h, m) = (two(at + 1)?, two(at + 4)?);
                is(at + 3, b':')?;
                if h > 23 || m > 59 {
                    return None;
                }
                let minutes = h * 60 + m;
                (
                    if *sign == b'-' { -minutes } else { minutes },
                    Zone::Offset,
                    6,
                )
            }
            _ => return None,
        };
        if at + length != b.len() {
            return None;
        }
        let days = days_from_civil(year, month, day);
        let seconds =
            days * 86_400 + hour * 3_600 + (minute - offset_minutes) * 60 + second.min(59);
        Some((Self(seconds * 1_000 + millis), zone))
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let of_era = y - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl fmt::Display for Timestamp {
    /// RFC 3339, UTC, `Z`, millisecond precision.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000);
        let millis = self.0.rem_euclid(1_000);
        let days = seconds.div_euclid(86_400) + 719_468;
        let of_day = seconds.rem_euclid(86_400);
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
            of_day / 3_600,
            of_day / 60 % 60,
            of_day % 60
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, Zone};

    #[test]
    fn rfc3339_is_read_strictly() {
        let parse = Timestamp::parse_rfc3339;
        let base = 1_772_274_600_000;
        assert_eq!(
            parse("2026-02-28T10:30:00Z"),
            Some((Timestamp(base), Zone::Utc))
        );
        assert_eq!(
            parse("2026-02-28T10:30:00.123456789Z"),
            Some((Timestamp(base + 123), Zone::Utc))
        );
        assert_eq!(
            parse("2026-02-28T12:30:00+02:00"),
            Some((Timestamp(base), Zone::Offset))
        );
        for text in [
            "2026-02-28 10:30:00Z",
            "2026-02-28_10:30:00Z",
            "2026-02-28T10:30Z",
            "2026-02-28",
            "2026-02-28T10:30:00",
            "20260228T103000Z",
            "2026-02-29T10:30:00Z",
            "2026-02-28T10:30:00+0200",
            "2026-02-28T10:30:00,5Z",
            "2026-02-28T10:30:00.Z",
            "2026-02-28T10:30:00.1234567890Z",
            "2026-02-28T24:00:00Z",
            "2026-02-28T10:30:00Z ",
            "2026-02-28T10:30:00Z[UTC]",
            "not a date",
            "",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn display_and_parse_round_trip() {
        for millis in [
            0,
            1,
            -1,
            1_772_274_600_123,
            951_782_400_000,
            -62_135_596_800_000,
        ] {
            let moment = Timestamp(millis);
            assert_eq!(
                Timestamp::parse_rfc3339(&moment.to_string()),
                Some((moment, Zone::Utc))
            );
        }
    }
}
