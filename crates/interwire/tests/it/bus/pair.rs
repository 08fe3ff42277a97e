//! A broker and the folder of an exchange that goes there, and what is the same whatever broker it is.

use super::driver::Driver;
use super::load::both_ways;
use crate::process::{Exchange, run};
use crate::server::Server;
use serde_json::json;
use std::path::Path;
use tempfile::TempDir;

pub struct Bus {
    pub server: Server,
    pub folder: TempDir,
}

impl Bus {
    pub fn of(server: Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { server, folder }
    }

    /// Starts the exchange, with settings `name=value` beside those of the bus.
    pub fn exchange(&self, more: &[&str]) -> Exchange {
        self.exchange_on(self.folder.path(), more)
    }

    /// Starts another one, on a folder of its own.
    pub fn exchange_on(&self, folder: &Path, more: &[&str]) -> Exchange {
        let data = folder.to_str().unwrap();
        let settings = self.server.settings();
        let settings = settings.iter().map(String::as_str);
        let mut arguments = vec!["--data", data, "--set", "listen=127.0.0.1:0"];
        for setting in settings.chain(more.iter().copied()) {
            arguments.extend(["--set", setting]);
        }
        Exchange::start_again(&arguments)
    }

    /// One more foreign agent.
    pub fn driver(&self) -> Driver {
        let options = json!({ "url": self.server.url, "party": "agent.b" });
        Driver::start(self.server.bus, &options)
    }

    /// Load both ways while the broker is killed and started again with its data.
    pub async fn killed_under_load(mut self, exchange: Exchange) {
        let (bus, url) = (self.server.bus, self.server.url.clone());
        let drivers = || Driver::start(bus, &json!({ "url": url, "party": "agent.b" }));
        both_ways(exchange, drivers, |exchange, before, outage| {
            std::thread::sleep(before);
            self.server.kill();
            std::thread::sleep(outage);
            self.server.start_again();
            exchange
        })
        .await;
    }

    /// Load both ways while the exchange is killed and started again with its data.
    pub async fn exchange_killed_under_load(self, exchange: Exchange) {
        let drivers = || self.driver();
        both_ways(exchange, drivers, |exchange, before, outage| {
            std::thread::sleep(before);
            let listen = format!("listen={}", exchange.url.trim_start_matches("http://"));
            exchange.kill();
            std::thread::sleep(outage);
            self.exchange(&[&listen])
        })
        .await;
    }

    /// `interwire doctor` says whether the broker is there.
    pub fn doctor_tells(mut self) {
        let data = self.folder.path().join("data");
        let url = format!("{}.url={}", self.server.bus, self.server.url);
        let mut arguments = vec!["doctor", "--data", data.to_str().unwrap(), "--json"];
        arguments.extend(["--set", &url, "--set", "listen=127.0.0.1:0"]);
        let bus = self.server.bus;
        let level = || {
            let ran = run(&arguments);
            let checks = ran.json();
            let check = checks.iter().find(|check| check["check"] == bus).unwrap();
            (check["level"].as_str().unwrap().to_owned(), ran.code)
        };
        assert_eq!(level(), ("ok".into(), Some(0)));
        self.server.kill();
        assert_eq!(level(), ("bad".into(), Some(1)));
    }
}
