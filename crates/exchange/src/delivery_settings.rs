//! How a place delivers: leases, attempts, waits between them, order.

use protocol::Retry;

/// What must hold between two deliveries of one conversation from one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One consumer at a time has a conversation, and nothing overtakes what waits for its next
    /// attempt. Urgent messages still go first.
    #[default]
    Conversation,
    /// Any consumer gets any message.
    None,
}

impl Order {
    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::None => "none",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Conversation, Self::None]
            .into_iter()
            .find(|order| order.as_str() == word)
    }
}

/// How one place delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliverySettings {
    /// How long a pulled delivery is reserved for its consumer, in milliseconds.
    pub lease_ms: i64,
    /// After this many failed attempts a delivery is dead.
    pub max_attempts: u32,
    /// The wait after the first failed attempt, in milliseconds.
    pub backoff_ms: i64,
    /// By what the wait grows with every further failure, in thousandths: 2,000 doubles it.
    pub backoff_multiplier_milli: u32,
    /// The longest wait, in milliseconds.
    pub backoff_ms_max: i64,
    /// Most deliveries that consumers hold at once.
    pub in_flight_max: u32,
    /// Whether conversations keep together and in order.
    pub order: Order,
}

/// The longest lease or wait anybody can ask for: one day.
pub(crate) const WAIT_MS_MAX: i64 = 86_400_000;
/// Most attempts anybody can ask for.
const ATTEMPTS_MAX: u32 = 1_000;

impl Default for DeliverySettings {
    /// 30 s leases, ten attempts, waits of 1, 2, 4 ... 300 s, 1,024 in flight, conversations in order.
    fn default() -> Self {
        Self {
            lease_ms: 30_000,
            max_attempts: 10,
            backoff_ms: 1_000,
            backoff_multiplier_milli: 2_000,
            backoff_ms_max: 300_000,
            in_flight_max: 1_024,
            order: Order::Conversation,
        }
    }
}

impl DeliverySettings {
    /// These settings as a message's own `delivery.retry` changes them (AEP 6), within limits: a
    /// sender may ask for patience, not for endless attempts or leases.
    #[must_use]
    pub fn with(self, retry: &Retry) -> Self {
        let wait = |asked: Option<i64>, own: i64| asked.unwrap_or(own).clamp(1, WAIT_MS_MAX);
        Self {
            lease_ms: wait(retry.ack_timeout_ms, self.lease_ms),
            max_attempts: retry
                .max_attempts
                .unwrap_or(self.max_attempts)
                .clamp(1, ATTEMPTS_MAX),
            backoff_ms: wait(retry.backoff_ms, self.backoff_ms),
            backoff_multiplier_milli: retry
                .backoff_multiplier_milli
                .unwrap_or(self.backoff_multiplier_milli)
                .clamp(1_000, 100_000),
            backoff_ms_max: wait(retry.backoff_ms_max, self.backoff_ms_max),
            ..self
        }
    }

    /// The wait after the `failures`-th failed attempt, counted from one:
    /// `min(backoff * multiplier^(failures - 1), max)` (AEP 6).
    #[must_use]
    pub fn backoff(self, failures: u32) -> i64 {
        let mut wait = self.backoff_ms.min(self.backoff_ms_max);
        for _ in 1..failures {
            if wait >= self.backoff_ms_max || self.backoff_multiplier_milli <= 1_000 {
                break;
            }
            wait = wait.saturating_mul(i64::from(self.backoff_multiplier_milli)) / 1_000;
        }
        wait.clamp(0, self.backoff_ms_max)
    }
}

#[cfg(test)]
mod tests {
    use super::DeliverySettings;
    use protocol::Retry;

    #[test]
    fn the_wait_grows_by_the_published_formula_up_to_its_maximum() {
        let settings = DeliverySettings {
            backoff_ms_max: 30_000,
            ..DeliverySettings::default()
        };
        let waits = [1, 2, 3, 4, 5, 6, 7, 1_000].map(|failures| settings.backoff(failures));
        assert_eq!(
            waits,
            [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]
        );
        let slower = DeliverySettings {
            backoff_multiplier_milli: 1_500,
            ..settings
        };
        assert_eq!(slower.backoff(3), 2_250);
    }

    #[test]
    fn a_message_may_ask_for_other_waits_but_not_for_endless_attempts() {
        let asked = Retry {
            max_attempts: Some(u32::MAX),
            backoff_ms: Some(-5),
            backoff_multiplier_milli: Some(0),
            backoff_ms_max: Some(i64::MAX),
            ack_timeout_ms: None,
        };
        let settings = DeliverySettings::default().with(&asked);
        assert_eq!(settings.max_attempts, 1_000);
        assert_eq!(settings.backoff_ms, 1);
        assert_eq!(settings.backoff_multiplier_milli, 1_000);
        assert_eq!(settings.backoff_ms_max, 86_400_000);
        assert_eq!(settings.lease_ms, 30_000);
    }
}
