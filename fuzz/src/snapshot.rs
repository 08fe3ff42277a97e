//! Snapshots of the exchange's state, damaged at will.

use exchange::{Exchange, Settings};

/// What can be read is written so that it reads back equal, and can be used.
pub fn run(data: &[u8]) {
    match Exchange::restore(Settings::default(), data) {
        Ok(mut exchange) => {
            let written = exchange.snapshot();
            let again = Exchange::restore(Settings::default(), &written)
                .expect("what was restored can be restored again");
            assert_eq!(again.snapshot(), written, "a snapshot reads back as it is");
            let far = protocol::Timestamp::from_millis(i64::MAX / 2);
            exchange.expire(far, u64::MAX / 2);
            let _ = (exchange.counts(), exchange.subscriptions());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
