//! How fast a replay goes.

use protocol::Timestamp;
use std::str::FromStr;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// `max`, or a factor such as `10x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Without waiting.
    Max,
    /// So many times as fast as it came.
    Times(f64),
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        let number = text.strip_suffix('x').unwrap_or(text).parse();
        match number {
            Ok(factor) if factor > 0.0 && f64::is_finite(factor) => Ok(Self::Times(factor)),
            Ok(_) | Err(_) => Err(format!(
                "expected max, or a factor above zero such as 1x or 10x, got {text:?}"
            )),
        }
    }
}

/// Says when it is each message's turn.
pub struct Pace {
    speed: Speed,
    /// When the first message came.
    first: Option<Timestamp>,
    began: Instant,
}

impl Pace {
    /// Begins with the first message.
    pub fn new(speed: Speed) -> Self {
        Self {
            speed,
            first: None,
            began: Instant::now(),
        }
    }

    /// Waits for the turn of a message that was accepted at `at`; how long after the first that was,
    /// in milliseconds.
    pub async fn wait_for(&mut self, at: Timestamp) -> i64 {
        if self.first.is_none() {
            self.began = Instant::now();
        }
        let (offset_ms, wait) = self.turn(at);
        match self.began.checked_add(wait) {
            Some(turn) => sleep_until(turn).await,
            // A wait that no clock can hold is for ever.
            None => std::future::pending().await,
        }
        offset_ms
    }

    /// How long after the first message this one came, and how long after its turn this one's is.
    fn turn(&mut self, at: Timestamp) -> (i64, Duration) {
        let first = *self.first.get_or_insert(at);
        let offset_ms = (at.as_millis() - first.as_millis()).max(0);
        let wait = match self.speed {
            Speed::Max => Duration::ZERO,
            Speed::Times(factor) => {
                let seconds = offset_ms as f64 / 1_000.0 / factor;
                Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            }
        };
        (offset_ms, wait)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, Speed};
    use protocol::Timestamp;
    use std::time::Duration;

    #[test]
    fn factors_are_read_strictly() {
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!("10x".parse(), Ok(Speed::Times(10.0)));
        assert_eq!("0.5".parse(), Ok(Speed::Times(0.5)));
        for text in ["", "x", "0", "-1x", "fast", "infx", "NaNx", "1xx"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_factor_shortens_every_wait_and_max_needs_none() {
        let moment = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let mut pace = Pace::new(Speed::Times(10.0));
        assert_eq!(pace.turn(moment(100)), (0, Duration::ZERO));
        assert_eq!(pace.turn(moment(130)), (30_000, Duration::from_secs(3)));
        // Accepted earlier, by a clock that was set back.
        assert_eq!(pace.turn(moment(90)), (0, Duration::ZERO));
        let mut pace = Pace::new(Speed::Max);
        pace.turn(moment(0));
        assert_eq!(pace.turn(moment(9)), (9_000, Duration::ZERO));
        let mut pace = Pace::new(Speed::Times(1e-300));
        pace.turn(moment(0));
        assert_eq!(pace.turn(moment(9)).1, Duration::MAX);
    }
}
