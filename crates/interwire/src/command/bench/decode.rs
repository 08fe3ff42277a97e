//! What reading and validating one envelope costs, in this process, on one thread.

use crate::identity;
use anyhow::{Result, anyhow, ensure};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Heading, Message};
use protocol::{DialectName, Rules, Timestamp};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Envelopes between two looks at the clock.
const BATCH: u32 = 64;

/// One dialect's envelope.
#[derive(Debug)]
pub struct Sample {
    /// The dialect.
    pub dialect: DialectName,
    text: String,
    rules: Rules,
}

impl Sample {
    /// A valid envelope of `size` bytes, or as short as the dialect allows.
    pub fn of(dialect: DialectName, size: usize) -> Result<Self> {
        let now = identity::now();
        let shortest = write(dialect, now, 0)?.len();
        let text = write(dialect, now, size.saturating_sub(shortest))?;
        let rules = Rules::at(now);
        let reading = protocol::decode(text.as_bytes(), &rules);
        ensure!(
            reading.is_valid() && reading.dialect == Some(dialect),
            "expected a valid {} envelope, got {:?}",
            dialect.as_str(),
            reading.faults
        );
        Ok(Self {
            dialect,
            text,
            rules,
        })
    }

    /// Bytes of the envelope.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Microseconds for one, reading it again and again for `time`.
    pub fn measure(&self, time: Duration) -> f64 {
        let start = Instant::now();
        let mut count = 0_u32;
        loop {
            for _ in 0..BATCH {
                black_box(protocol::decode(
                    black_box(self.text.as_bytes()),
                    &self.rules,
                ));
            }
            count += BATCH;
            let elapsed = start.elapsed();
            if elapsed >= time {
                return elapsed.as_secs_f64() * 1e6 / f64::from(count);
            }
        }
    }
}

fn write(dialect: DialectName, now: Timestamp, fill: usize) -> Result<String> {
    let fill = "x".repeat(fill);
    let payload =
        format!("{{\"unit\":\"celsius\",\"values\":[20.5,20.75,21,21.25],\"text\":\"{fill}\"}}");
    Ok(match dialect {
        DialectName::Aee => Aee::task("human.bench", "agent.bench", "bench.decode.measure")
            .corr("CONV_01JFX7K0A2B4C6D8E0F2G4H6J8")
            .payload_json(&payload)
            .build("01JFX7K2M4N8P1Q3R5S7T9V0W2", now),
        DialectName::Aep => Aep::event("environment.observed", "agent:bench")
            .topic("bench.decode")
            .conversation("conv_bench")
            .correlation("cor_bench")
            .payload_json(&payload)
            .build("evt_bench_0001", now),
        DialectName::Uai => {
            let heading = Heading {
                id: "msg_bench_0001".into(),
                issued_at: now,
                source: Agent::new("agent", "bench"),
                target: Agent::new("agent", "reader"),
                conversation: "conv_bench".into(),
            };
            Message::new("directive", &format!("Measure. {fill}"))
                .envelope(heading)
                .write()
                .map_err(|fault| anyhow!("{}", fault.detail))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::Sample;
    use protocol::DialectName;
    use std::time::Duration;

    #[test]
    fn every_dialect_has_a_valid_envelope_of_about_the_asked_size() {
        for dialect in [DialectName::Aee, DialectName::Aep, DialectName::Uai] {
            let sample = Sample::of(dialect, 4_096).unwrap();
            assert_eq!(sample.size(), 4_096, "{dialect:?}");
            assert!(Sample::of(dialect, 0).unwrap().size() > 0);
            assert!(sample.measure(Duration::ZERO) > 0.0);
        }
    }
}
