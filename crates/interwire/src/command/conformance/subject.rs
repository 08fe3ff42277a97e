//! A whole exchange as the subject of a suite.

use broker::{Broker, Durability, Handle, Settings, Storage};
use bytes::Bytes;
use protocol::dialect::aep::conformance::Subject;
use protocol::dialect::aep::flow::Stats;
use protocol::{Code, Fault, Rejection, Rules};
use tokio::runtime::Handle as Runtime;

/// A running broker in memory, called from a thread that may block.
struct Exchange {
    runtime: Runtime,
    broker: Option<Broker>,
    handle: Handle,
}

/// A subject that could not be started; refuses everything. The run fails for `broken` anyway.
struct Broken(String);

/// The settings of an exchange in memory with these rules.
pub fn settings(rules: &Rules) -> Settings {
    Settings {
        storage: Storage::Memory,
        durability: Durability::Memory,
        rules: rules.clone(),
        ..Settings::default()
    }
}

/// A fresh exchange.
pub fn fresh(rules: &Rules, runtime: &Runtime, broken: &mut Option<String>) -> Box<dyn Subject> {
    let _inside = runtime.enter();
    match Broker::open(settings(rules), client::chance::bits()) {
        Ok(broker) => {
            let handle = broker.handle();
            Box::new(Exchange {
                runtime: runtime.clone(),
                broker: Some(broker),
                handle,
            })
        }
        Err(error) => {
            *broken = Some(format!("an exchange in memory cannot be started: {error}"));
            Box::new(Broken(error.to_string()))
        }
    }
}

impl Subject for Exchange {
    fn handle(&mut self, event: &[u8]) -> Result<(), Rejection> {
        self.runtime
            .block_on(self.handle.accept(Bytes::copy_from_slice(event)))
            .map(drop)
    }

    fn stats(&self) -> Stats {
        self.runtime
            .block_on(self.handle.counts())
            .map(|(_, stats)| stats)
            .unwrap_or_default()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(broker) = self.broker.take() {
            self.runtime.block_on(broker.close());
        }
    }
}

impl Subject for Broken {
    fn handle(&mut self, _event: &[u8]) -> Result<(), Rejection> {
        Err(Fault::new(Code::InternalError, "", "ARCHITECTURE 4", self.0.clone()).into())
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}
