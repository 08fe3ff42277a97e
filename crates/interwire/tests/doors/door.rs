//! The doors, and what their transports cannot have.

use crate::driver::{Cannot, Done, Driver};
use crate::exchange::{Exchange, free_address};
use crate::python;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// One door and the library that goes through it.
pub struct Door {
    pub name: &'static str,
    pub library: &'static str,
    script: &'static str,
    /// Cases that its transport cannot have, with the reason that its driver gives.
    cannot: &'static [(&'static str, &'static str)],
}

pub fn http() -> Door {
    Door {
        name: "http",
        library: "httpx, httpx-sse",
        script: "http.py",
        cannot: &[],
    }
}

pub fn websocket() -> Door {
    Door {
        name: "websocket",
        library: "websockets",
        script: "websocket.py",
        cannot: &[],
    }
}

pub fn grpc() -> Door {
    Door {
        name: "grpc",
        library: "grpcio",
        script: "grpc.py",
        cannot: &[],
    }
}

pub fn harmovela() -> Door {
    Door {
        name: "harmovela (AEP over WebSocket)",
        library: "websockets",
        script: "harmovela.py",
        cannot: &[],
    }
}

pub fn harmovela_grpc() -> Door {
    Door {
        name: "harmovela (AEP over gRPC)",
        library: "grpcio",
        script: "harmovela_grpc.py",
        cannot: &[],
    }
}

pub fn stdio() -> Door {
    Door {
        name: "stdio (AEP over pipes)",
        library: "subprocess",
        script: "stdio.py",
        cannot: &[],
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

/// A place to run a case in: a folder, an address, and drivers of one door.
pub struct Stage<'d> {
    door: &'d Door,
    folder: TempDir,
    address: String,
}

impl Stage<'_> {
    /// Starts the exchange, again after it ended.
    pub fn exchange(&self, settings: &[&str]) -> Exchange {
        Exchange::start(self.folder.path(), &self.address, settings)
    }

    /// One more client.
    pub fn driver(&self) -> Driver {
        let url = format!("http://{}", self.address);
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
