//! Replay: the whole journal read back through `GET /v1/stream?from=earliest`.
//!
//! Two readings: through a filter that passes a handful of messages, where the cost is looking at
//! them, and through one that passes every message of the measurements, where the cost is sending.

use super::http::Http;
use super::ours::Ours;
use super::wire::{Connection, READER, Wire as _};
use anyhow::{Result, ensure};
use std::time::Instant;

/// Publishes in flight while the journal is filled.
const WINDOW: usize = 256;

/// Among so many, one is of the conversation that the narrow filter asks for.
const RARITY: usize = 10_000;

/// Always published in that conversation, however full the journal was.
const FEW: usize = 8;

/// What there is to read.
#[derive(Debug)]
pub struct Journal {
    http: Http,
    run: String,
    /// Messages in the journal.
    pub messages: usize,
}

/// One reading.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Messages that passed the filter.
    pub delivered: usize,
    /// From the request to the word that everything was read.
    pub seconds: f64,
}

impl Journal {
    /// Counts what is there and publishes what is missing to `least` messages.
    pub async fn fill(ours: &Ours, run: &str, least: usize, size: usize) -> Result<Self> {
        let mut journal = Self {
            http: ours.http(),
            run: run.to_owned(),
            messages: 0,
        };
        let found = journal.read("").await?.delivered;
        let bulk = least.saturating_sub(found + FEW);
        let (few, many) = (journal.few(), format!("{run}many"));
        let mut connection = Connection::open(ours, run, 0).await?;
        let (mut sent, mut acked) = (0, 0);
        let mut out = Vec::new();
        while acked < bulk + FEW {
            out.clear();
            while sent < bulk + FEW && sent - acked < WINDOW {
                let is_rare = sent >= bulk || sent % RARITY == RARITY - 1;
                let conversation = if is_rare { &few } else { &many };
                ours.publish(&mut out, conversation, sent as u64, size);
                sent += 1;
            }
            connection.send(&out).await?;
            acked += connection.next(ours, run).await?.acks;
        }
        journal.messages = journal.read("").await?.delivered;
        ensure!(
            journal.messages >= found + sent,
            "{} messages were found and {sent} published, but {} were read back",
            found,
            journal.messages
        );
        Ok(journal)
    }

    fn few(&self) -> String {
        format!("{}few", self.run)
    }

    /// Reads through the filter that passes a handful.
    pub async fn read_few(&self) -> Result<Reading> {
        self.read(&format!("&conversation=conv_{}", self.few()))
            .await
    }

    /// Reads through the filter that passes everything that measurements publish.
    pub async fn read_all(&self) -> Result<Reading> {
        self.read("&type=environment.observed").await
    }

    async fn read(&self, filter: &str) -> Result<Reading> {
        let mut connection = Connection::open(&self.http, &self.run, READER).await?;
        let start = Instant::now();
        let request = self.http.stream(&format!("from=earliest{filter}"));
        connection.request(&self.http, &request).await?;
        let mut delivered = 0;
        loop {
            let seen = connection.next(&self.http, &self.run).await?;
            delivered += seen.deliveries.len();
            if seen.is_caught_up {
                return Ok(Reading {
                    delivered,
                    seconds: start.elapsed().as_secs_f64(),
                });
            }
        }
    }
}
