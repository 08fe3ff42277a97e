//! Measurements against a real exchange: that they measure something, never how fast.

use crate::process::{Exchange, Ran, run};
use serde_json::Value;

/// Tiny numbers; later arguments add to them.
fn bench(exchange: &Exchange, arguments: &[&str]) -> Vec<Value> {
    let tiny = [
        &["bench", "--json", "--url", &exchange.url, "--rounds", "1"],
        arguments,
    ];
    rows(run(&tiny.concat()))
}

fn rows(ran: Ran) -> Vec<Value> {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.json()
}

/// Rows of that work, of which there must be `count`; `keys` must be above zero in each.
fn check(rows: &[Value], work: &str, count: usize, keys: &[&str]) {
    let rows: Vec<_> = rows.iter().filter(|row| row["work"] == work).collect();
    assert_eq!(rows.len(), count, "{work}: {rows:?}");
    for row in rows {
        for key in keys {
            assert!(row[key].as_f64().is_some_and(|n| n > 0.0), "{key} in {row}");
        }
        assert_eq!(row["rounds"], 1);
    }
}

#[test]
fn every_measurement_measures_something() {
    let exchange = Exchange::in_memory();
    let tiny = "publish http fanout latency --publishers 1,4 --connections 1,2 \
        --http-connections 2 --readers 1,3 --rate 200 --seconds 0.2";
    let rows = bench(&exchange, &tiny.split_whitespace().collect::<Vec<_>>());
    let times = ["rate", "p50_ms", "p99_ms"];
    // Two connections cannot share one publish in flight.
    check(&rows, "publish", 3, &times);
    check(&rows, "http", 1, &times);
    check(&rows, "fanout", 4, &["rate"]);
    check(&rows, "latency", 1, &times);
    assert_eq!(rows.len(), 9);
    for row in &rows {
        let system = row["system"].as_str().unwrap();
        assert!(system.starts_with("interwire memory"), "{system}");
        assert_eq!(row.get("bound"), None, "memory promises nothing: {row}");
    }
}

#[test]
fn readers_in_another_dialect_are_held_against_those_who_read_what_was_sent() {
    let exchange = Exchange::in_memory();
    let rows = bench(
        &exchange,
        &["translate", "--readers", "1,4", "--seconds", "0.2"],
    );
    // One reader has no half; four are measured for two dialects beside the sender's own.
    check(&rows, "translate", 4, &["rate", "ratio"]);
    let systems: Vec<_> = rows
        .iter()
        .filter_map(|row| row["system"].as_str())
        .collect();
    let [native, aee, uai] =
        ["", ", half as aee", ", half as uai"].map(|end| format!("interwire memory{end}"));
    assert_eq!(systems, [&*aee, &*native, &*uai, &*native]);
}

#[test]
fn a_replay_counts_what_is_there_and_publishes_what_is_missing() {
    let exchange = Exchange::in_memory();
    let rows = bench(&exchange, &["replay", "--records", "300"]);
    check(&rows, "replay", 2, &["looked_at", "delivered"]);
    // The message by which the exchange was asked what it promises is one of them.
    let looked_at = |row: &Value| row["looked_at"].as_f64().unwrap();
    assert_eq!(looked_at(&rows[0]), 300.0);
    assert_eq!(rows[0]["delivered"], 8.0);
    assert_eq!(rows[1]["delivered"], 300.0);
    let rows = bench(&exchange, &["replay", "--records", "1"]);
    assert!(looked_at(&rows[0]) > 300.0, "an older journal is kept");
}

#[test]
fn decoding_needs_no_exchange() {
    let ran = run(&[
        "bench",
        "decode",
        "--json",
        "--url",
        "http://127.0.0.1:1",
        "--seconds",
        "0",
        "--rounds",
        "1",
        "--bytes",
        "2048",
    ]);
    let rows = rows(ran);
    check(&rows, "decode", 3, &["us", "rate"]);
    let systems: Vec<_> = rows.iter().map(|row| &row["system"]).collect();
    assert_eq!(systems, ["aee", "aep", "uai"]);
    assert!(rows.iter().all(|row| row["bytes"] == 2048.0));
}

#[test]
fn a_durable_exchange_has_bounds_and_missing_one_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let one = [
        "http",
        "--http-connections",
        "64",
        "--seconds",
        "0",
        "--bytes",
        "600",
    ];
    let rows = bench(&exchange, &one);
    check(&rows, "http", 1, &["rate"]);
    assert_eq!(rows[0]["direction"], ">=");
    let verdict = rows[0]["bound"]["verdict"].as_str().unwrap();
    assert!(["met", "missed"].contains(&verdict), "{verdict}");
}

#[test]
fn quiet_readers_are_weighed_in_the_process_that_is_named() {
    let exchange = Exchange::in_memory();
    let pid = std::process::id().to_string();
    let rows = bench(&exchange, &["idle", "--idle-readers", "3", "--pid", &pid]);
    check(&rows, "idle", 1, &["before_mib", "after_mib"]);
    let unnamed = run(&["bench", "idle", "--url", &exchange.url]);
    assert_eq!(unnamed.code, Some(1));
    assert!(unnamed.err.contains("--pid"), "{}", unnamed.err);
}

#[test]
fn readers_that_stop_reading_are_watched_and_told() {
    // Nobody is cut while the messages pass, however long that takes.
    let patient = ["--set", "http.write_stall_ms=3600000"];
    let budget = ["--set", "http.reader_budget_bytes=1048576"];
    let memory = ["--listen", "127.0.0.1:0", "--ephemeral"];
    let exchange = Exchange::start(&[&memory[..], &patient, &budget].concat());
    let pid = exchange.id().to_string();
    let few = ["stalled", "--stalled-readers", "4", "--messages", "5000"];
    let rows = bench(&exchange, &[&few[..], &["--pid", &pid]].concat());
    check(
        &rows,
        "stalled",
        1,
        &["rate", "before_mib", "peak_mib", "after_mib"],
    );
    assert_eq!(
        (&rows[0]["delivered"], &rows[0]["told"]),
        (&5_000.0.into(), &4.0.into())
    );
    let unnamed = run(&["bench", "stalled", "--url", &exchange.url]);
    assert_eq!(unnamed.code, Some(1));
    assert!(unnamed.err.contains("--pid"), "{}", unnamed.err);
}

#[test]
fn the_row_of_durability_os_wants_such_an_exchange() {
    let exchange = Exchange::in_memory();
    let wrong = ["bench", "publish", "--url", &exchange.url, "--os-url"];
    let wrong = run(&[&wrong[..], &[&exchange.url]].concat());
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.err.contains("expected durability os"),
        "{}",
        wrong.err
    );
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let os = Exchange::start(&[
        "--listen",
        "127.0.0.1:0",
        "--data",
        data,
        "--set",
        "durability=os",
    ]);
    let tiny = format!(
        "publish --os-url {} --publishers 1,2 --connections 1 --seconds 0.1",
        os.url
    );
    let rows = bench(&exchange, &tiny.split_whitespace().collect::<Vec<_>>());
    check(&rows, "publish", 3, &["rate"]);
    assert_eq!(rows[2]["system"], "interwire os");
}

#[test]
fn a_peer_that_is_not_there_is_named() {
    let exchange = Exchange::in_memory();
    let peer = "redis://127.0.0.1:1?sync=always";
    let ran = run(&[
        "bench",
        "publish",
        "--seconds",
        "0",
        "--publishers",
        "1",
        "--url",
        &exchange.url,
        "--against",
        peer,
    ]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("redis streams appendfsync=always"),
        "{}",
        ran.err
    );
}
