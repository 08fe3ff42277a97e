//! The doors, and what their transports cannot have.

use crate::driver::{Cannot, Done, Driver};
use crate::exchange::{Exchange, free_address};
use crate::python;
use crate::server::Server;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// One door and the library that goes through it.
pub struct Door {
    pub name: &'static str,
    pub library: &'static str,
    pub script: &'static str,
    /// The message broker that it is a door to.
    broker: Option<fn() -> Server>,
    /// Cases that its transport cannot have, with the reason that its driver gives.
    cannot: &'static [(&'static str, &'static str)],
}

pub fn http() -> Door {
    Door {
        name: "http",
        library: "httpx, httpx-sse",
        script: "http.py",
        broker: None,
        cannot: &[],
    }
}

pub fn websocket() -> Door {
    Door {
        name: "websocket",
        library: "websockets",
        script: "websocket.py",
        broker: None,
        cannot: &[],
    }
}

pub fn grpc() -> Door {
    Door {
        name: "grpc",
        library: "grpcio",
        script: "grpc.py",
        broker: None,
        cannot: &[],
    }
}

pub fn harmovela() -> Door {
    Door {
        name: "aep-websocket",
        library: "websockets",
        script: "harmovela.py",
        broker: None,
        cannot: &[],
    }
}

pub fn harmovela_grpc() -> Door {
    Door {
        name: "aep-grpc",
        library: "grpcio",
        script: "harmovela_grpc.py",
        broker: None,
        cannot: &[],
    }
}

pub fn stdio() -> Door {
    Door {
        name: "aep-stdio",
        library: "subprocess",
        script: "stdio.py",
        broker: None,
        cannot: &[],
    }
}

pub fn harmovela_sse() -> Door {
    const NO_DELIVERIES: &str =
        "no deliveries: the binding is a stream of events and a way to send some";
    Door {
        name: "aep-sse",
        library: "httpx, httpx-sse",
        script: "harmovela_sse.py",
        broker: None,
        cannot: &[
            ("keeps_every_byte", NO_DELIVERIES),
            ("acknowledges", NO_DELIVERIES),
            ("gives_back_and_gets_it_again", NO_DELIVERIES),
        ],
    }
}

/// MCP calls tools; what it has instead of a stream is told in `docs/mcp.md`.
#[cfg(feature = "mcp")]
pub fn mcp() -> Door {
    const NO_STREAM: &str =
        "no stream of envelopes: a host is told that a resource changed, and reads it";
    Door {
        name: "mcp",
        library: "mcp",
        script: "mcp.py",
        broker: None,
        cannot: &[
            ("receives_what_passes_its_filter", NO_STREAM),
            ("keeps_every_byte", NO_STREAM),
            ("resumes_at_its_cursor", NO_STREAM),
            ("is_told_of_a_gap", NO_STREAM),
            ("reads_slowly_and_harms_nobody", NO_STREAM),
            ("is_told_of_a_drain", NO_STREAM),
        ],
    }
}

/// What no broker can have: an agent's link is to the broker, and the exchange is beyond it.
#[cfg(any(feature = "nats", feature = "redis", feature = "kafka"))]
const BEYOND_A_BROKER: [(&str, &str); 3] = [
    (
        "is_told_of_a_gap",
        "a reader's place is in the broker's own log: what is gone there is the broker's affair, and it tells nobody",
    ),
    (
        "reads_slowly_and_harms_nobody",
        "reading is by request: a reader that stops asking holds nothing up and is owed nothing",
    ),
    (
        "is_told_of_a_drain",
        "the link is to the broker, which stays when the exchange goes: nobody is told",
    ),
];

#[cfg(feature = "nats")]
pub fn nats() -> Door {
    Door {
        name: "nats",
        library: "nats-py",
        script: "nats.py",
        broker: Some(Server::nats),
        cannot: &BEYOND_A_BROKER,
    }
}

#[cfg(feature = "redis")]
pub fn redis() -> Door {
    Door {
        name: "redis",
        library: "redis (redis-py)",
        script: "redis.py",
        broker: Some(Server::redis),
        cannot: &BEYOND_A_BROKER,
    }
}

#[cfg(feature = "kafka")]
pub fn kafka() -> Door {
    Door {
        name: "kafka",
        library: "confluent-kafka",
        script: "kafka.py",
        broker: Some(Server::kafka),
        cannot: &[
            (
                "acknowledges",
                "no leases: a group commits an offset, and the broker takes any",
            ),
            (
                "gives_back_and_gets_it_again",
                "no word for one message: a group goes on from an offset",
            ),
            BEYOND_A_BROKER[0],
            BEYOND_A_BROKER[1],
            BEYOND_A_BROKER[2],
        ],
    }
}

/// A place to run a case in: a folder, an address, perhaps a broker, and drivers of one door.
pub struct Stage<'d> {
    door: &'d Door,
    folder: TempDir,
    address: String,
    broker: Option<Server>,
}

impl Stage<'_> {
    /// Starts the exchange, again after it ended.
    pub fn exchange(&self, settings: &[&str]) -> Exchange {
        let of_broker = self.broker.as_ref().map(Server::settings);
        let of_broker = of_broker.iter().flatten().map(String::as_str);
        let settings: Vec<&str> = settings.iter().copied().chain(of_broker).collect();
        let exchange = Exchange::start(self.folder.path(), &self.address, &settings);
        if let Some(broker) = &self.broker {
            exchange.is_on(broker.bus);
        }
        exchange
    }

    /// One more client.
    pub fn driver(&self) -> Driver {
        let url = match &self.broker {
            Some(broker) => broker.url.clone(),
            None => format!("http://{}", self.address),
        };
        let start =
            json!({"url": url, "party": "agent.b", "program": env!("CARGO_BIN_EXE_interwire")});
        Driver::start(self.door.script, &start)
    }
}

/// Runs one case on one door and notes the result for the table.
pub fn run(door: &Door, case: &str, body: fn(&Stage<'_>) -> Done) {
    let note = results().join(format!("{}.{case}", door.name));
    fs::create_dir_all(results()).expect("a folder");
    // A case that panics leaves this.
    fs::write(&note, format!("FAILED\t{}", door.library)).expect("the note");
    let stage = Stage {
        door,
        folder: tempfile::tempdir().expect("a folder"),
        address: free_address(),
        broker: door.broker.map(|start| start()),
    };
    let listed = door.cannot.iter().find(|(name, _)| *name == case);
    let result = match (body(&stage), listed) {
        (Ok(()), None) => "passed".to_owned(),
        (Err(Cannot(why)), Some((_, reason))) => {
            assert_eq!(why, *reason, "another reason than the listed one");
            format!("cannot: {why}")
        }
        (Ok(()), Some(_)) => panic!("{case} passed and is listed as what {} cannot", door.name),
        (Err(Cannot(why)), None) => panic!("{case} on {}: {why}", door.name),
    };
    fs::write(&note, format!("{result}\t{}", door.library)).expect("the note");
}

/// Where results are noted; `table.py` prints them.
fn results() -> PathBuf {
    python::suite().join("../../../../target/doors")
}
