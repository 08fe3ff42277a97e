//! Whether a JSON number is an integer, by its digits and not by way of a double.

/// A number that is mathematically an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// It fits.
    Fits(i64),
    /// It is an integer outside `i64`.
    Beyond,
}

impl Integer {
    /// Reads a number that follows the JSON grammar. `3`, `3.0`, `30e-1` and `3e0` are the integer 3;
    /// `None` for a number with a fraction. Costs no more than the text is long, whatever the
    /// exponent says.
    pub(super) fn read(number: &str) -> Option<Self> {
        if let Ok(fits) = number.parse() {
            return Some(Self::Fits(fits));
        }
        let (mantissa, exponent) = match number.find(['e', 'E']) {
            Some(at) => (number.get(..at)?, number.get(at + 1..)?),
            None => (number, "0"),
        };
        let (is_negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().all(|c| c == b'0') {
            return Some(Self::Fits(0));
        }
        // The value is `digits` times ten to the power of `shift`.
        let shift = match exponent.parse::<i64>() {
            Ok(exponent) => exponent.saturating_sub(fraction.len() as i64),
            Err(_) if exponent.starts_with('-') => i64::MIN,
            Err(_) => i64::MAX,
        };
        let zeros_at_end = if fraction.is_empty() {
            whole.bytes().rev().take_while(|&c| c == b'0').count()
        } else {
            0
        };
        if shift < 0 && shift.unsigned_abs() > zeros_at_end as u64 {
            return None;
        }
        let kept = digits()
            .count()
            .saturating_sub(usize::try_from(shift.min(0).unsigned_abs()).ok()?);
        let zeros_added = usize::try_from(shift.max(0)).unwrap_or(usize::MAX).min(20);
        let magnitude = digits()
            .take(kept)
            .chain(std::iter::repeat_n(b'0', zeros_added))
            .try_fold(0_i64, |value, digit| {
                let digit = i64::from(digit - b'0');
                value
                    .checked_mul(10)?
                    .checked_add(if is_negative { -digit } else { digit })
            });
        Some(magnitude.map_or(Self::Beyond, Self::Fits))
    }
}

#[cfg(test)]
mod tests {
    use super::Integer;

    #[test]
    fn integers_are_told_by_their_digits() {
        let fits = |n| Some(Integer::Fits(n));
        let cases = [
            ("0", fits(0)),
            ("-0", fits(0)),
            ("0.000", fits(0)),
            ("0e999999999999999999999", fits(0)),
            ("3.0", fits(3)),
            ("3e2", fits(300)),
            ("3E+2", fits(300)),
            ("30e-1", fits(3)),
            ("-1.50e1", fits(-15)),
            ("0.003e3", fits(3)),
            ("300e-2", fits(3)),
            ("300e-3", None),
            ("1.5", None),
            ("1e-1", None),
            ("1.00000000000000000000000001", None),
            ("4503599627370497.4", None),
            ("1e-99999999999999999999999", None),
            ("1e99999999999999999999999", Some(Integer::Beyond)),
            ("9223372036854775807", fits(i64::MAX)),
            ("9223372036854775808", Some(Integer::Beyond)),
            ("-9223372036854775808.0", fits(i64::MIN)),
            ("-9223372036854775809", Some(Integer::Beyond)),
            ("9223372036854775807.5", None),
            ("1e18", fits(1_000_000_000_000_000_000)),
            ("1e19", Some(Integer::Beyond)),
            ("0.00000000000000000000000000001e29", fits(1)),
        ];
        for (text, integer) in cases {
            assert_eq!(Integer::read(text), integer, "{text}");
        }
    }
}
