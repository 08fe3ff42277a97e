//! Commands and queries that wait for their end, by correlation id (AEP 2.11, 2.12).
//!
//! Answers to what is not open are carried: the asker may be older than this flow.

use super::recent::{Key, Recent};
use super::snapshot::{put_recent, recent_from};
use crate::wire::{Reader, WireError};
use crate::{Code, Fault};

#[derive(Debug)]
pub struct Requests(Recent<()>);

impl Requests {
    pub fn bounded(max: usize) -> Self {
        Self(Recent::bounded(max))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn open(&mut self, correlation: Key) {
        self.0.insert(correlation, ());
    }

    pub fn open_once(&mut self, correlation: Key, shown: &str) -> Result<(), Fault> {
        if self.0.get(&correlation).is_some() {
            return Err(Fault::new(
                Code::InvalidCommand,
                "/correlation_id",
                "AEP 2.11",
                format!("expected a new correlation id, got {shown:?}, which is still open"),
            ));
        }
        self.open(correlation);
        Ok(())
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_recent(out, &self.0, |_, ()| {});
    }

    pub fn decode(&mut self, reader: &mut Reader<'_>) -> Result<(), WireError> {
        recent_from(reader, &mut self.0, |_| Ok(()))
    }

    pub fn close(&mut self, correlation: &str) {
        self.0.remove(correlation);
    }
}
