//! The wall clock is set back by an hour: under the running process, and between two of its lives.
//!
//! A shim between the process and the system answers the question for the time; the process is the
//! real one.

use super::witness::{millis, now, sequence};
use crate::process::{Exchange, task};
use client::{Client, Place};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Adds what a file says to every answer about the wall clock.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    char text[32] = {0};
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return 0;
    if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
    close(file);
    return atol(text);
}

int clock_gettime(clockid_t id, struct timespec *to) {
    int result = (int)syscall(SYS_clock_gettime, id, to);
    int is_wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
    if (result == 0 && is_wall) to->tv_sec += offset();
    return result;
}
"#;

const HOUR_MS: i64 = 3_600_000;
const WAIT: Duration = Duration::from_secs(30);

struct Clock {
    shim: PathBuf,
    offset: PathBuf,
}

impl Clock {
    fn make(folder: &Path) -> Self {
        let source = folder.join("shim.c");
        std::fs::write(&source, SHIM).unwrap();
        let shim = folder.join("shim.so");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let built = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&shim, &source])
            .status()
            .expect("a C compiler, which the build needs as well");
        assert!(built.success());
        let clock = Self {
            shim,
            offset: folder.join("offset"),
        };
        clock.set_back(0);
        clock
    }

    fn set_back(&self, ms: i64) {
        // Renamed into place: the process never reads half a number.
        let new = self.offset.with_extension("new");
        std::fs::write(&new, (-ms / 1_000).to_string()).unwrap();
        std::fs::rename(new, &self.offset).unwrap();
    }

    fn start(&self, data: &Path) -> Exchange {
        let environment = [
            ("LD_PRELOAD", self.shim.to_str().unwrap()),
            ("CLOCK_OFFSET_FILE", self.offset.to_str().unwrap()),
        ];
        let arguments = ["--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        Exchange::start_in(&environment, &arguments)
    }
}

fn inbox() -> Place {
    Place::Inbox("agent.b".into())
}

/// The ids of what is there, in order, and the names of the deliveries.
async fn pull(client: &Client, max: usize) -> (Vec<String>, Vec<String>, i64) {
    let found = client.pull(&inbox(), max, WAIT).await.unwrap();
    let until = found.first().map_or(0, |one| millis(&one.lease_until));
    let ids = found.iter().map(|one| one.id.clone()).collect();
    (
        ids,
        found.into_iter().map(|one| one.delivery).collect(),
        until,
    )
}

async fn settle(client: &Client, how: &'static str, names: &[String]) -> Vec<bool> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let extra = match how {
        "nack" => json!({"retry_after_ms": 700}),
        _ => json!({}),
    };
    let settled = client.settle(how, &names, extra).await.unwrap();
    settled.iter().map(Result::is_ok).collect()
}

async fn publish(client: &Client, number: usize) -> client::Receipt {
    let letter = task(
        &format!("letter-{number}"),
        "agent.b",
        &format!("c-{number}"),
    );
    client.publish(letter).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_stops_nothing_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, data) = (Clock::make(folder.path()), folder.path().join("data"));
    let exchange = clock.start(&data);
    let client = exchange.client();
    let settings = client::DeliverySettings {
        lease_ms: Some(1_500),
        ..client::DeliverySettings::default()
    };
    client.put_inbox("agent.b", &settings).await.unwrap();
    for number in 0..4 {
        publish(&client, number).await;
    }
    let (_, held, until) = pull(&client, 3).await;
    assert!((until - now()).abs() < 60_000);
    assert_eq!(settle(&client, "ack", &held[..1]).await, [true]);
    assert_eq!(settle(&client, "nack", &held[1..2]).await, [true]);

    // Under the running process: a lease and a rest end in their time, which goes on.
    clock.set_back(HOUR_MS);
    let mut came = Vec::new();
    while came.len() < 3 {
        let (ids, names, until) = pull(&client, 1).await;
        assert!((until - now()).abs() < 60_000);
        assert_eq!(settle(&client, "ack", &names).await, [true]);
        came.extend(ids);
    }
    came.sort();
    assert_eq!(came, ["letter-1", "letter-2", "letter-3"]);
    assert_eq!(settle(&client, "ack", &held[2..]).await, [false]);
    publish(&client, 4).await;
    let before = publish(&client, 5).await;
    // This one rests, by a clock that stands an hour later than the next life's.
    let (ids, names, _) = pull(&client, 1).await;
    assert_eq!(ids, ["letter-4"]);
    assert_eq!(settle(&client, "nack", &names).await, [true]);
    exchange.kill();

    // Between two lives: it starts an hour before it ended, and goes on behind where it was.
    let exchange = clock.start(&data);
    let client = exchange.client();
    let after = publish(&client, 6).await;
    assert!(sequence(&after.cursor) > sequence(&before.cursor));
    let repeat = publish(&client, 0).await;
    assert!(
        repeat.duplicate,
        "what was published an hour later is known"
    );
    let mut came = Vec::new();
    while came.len() < 3 {
        let (ids, _, until) = pull(&client, 9).await;
        assert!(!ids.is_empty(), "it rests longer than its own wait");
        assert!((until - now() + HOUR_MS).abs() < 60_000, "it is set back");
        came.extend(ids);
        came.sort();
        came.dedup();
    }
    assert_eq!(came, ["letter-4", "letter-5", "letter-6"]);
    // Leases run out in this time, too.
    let mut came = Vec::new();
    while came.len() < 3 {
        let (ids, names, _) = pull(&client, 9).await;
        assert!(!ids.is_empty(), "a lease never ends");
        let settled = settle(&client, "ack", &names).await;
        let taken = ids.into_iter().zip(settled).filter(|(_, is_ok)| *is_ok);
        came.extend(taken.map(|(id, _)| id));
    }
    came.sort();
    assert_eq!(came, ["letter-4", "letter-5", "letter-6"]);
    let state = client.place(&inbox()).await.unwrap();
    assert_eq!((state.waiting, state.leased, state.dead), (0, 0, 0));
}
