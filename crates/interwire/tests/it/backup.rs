//! Copies of a data folder that is in use, what is made of them, and looking for damage.

use crate::process::{Exchange, Ran, interwire, run, run_with, task};
use client::{Client, Filter, From, Receipt};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn backup(data: &Path, folder: &Path) -> Ran {
    run(&["backup", text(folder), "--data", text(data), "--json"])
}

fn restore(folder: &Path, data: &Path) -> Ran {
    run(&["restore", text(folder), "--data", text(data), "--json"])
}

fn deep(data: &Path) -> Ran {
    run(&["doctor", "--deep", "--data", text(data), "--json"])
}

/// Publishes until told to stop; hands each receipt over as it comes.
async fn publish(
    client: Client,
    number: usize,
    is_over: Arc<AtomicBool>,
    receipts: std::sync::mpsc::Sender<(String, Receipt)>,
) {
    let socket = client.socket().await.unwrap();
    let mut n = 0;
    while !is_over.load(Ordering::Acquire) {
        let envelope = task(
            &format!("message-{number}-{n:05}"),
            "agent.b",
            "conversation-1",
        );
        let receipt = socket.publish(&envelope).await.unwrap();
        receipts.send((envelope, receipt)).unwrap();
        n += 1;
    }
}

#[test]
fn a_backup_beside_publishers_has_every_receipt_that_was_there_before_it() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| root.path().join(name);
    let data = folder("data");
    // Small files, so that some are closed while the copy is made.
    let exchange = Exchange::start(&[
        "--listen",
        "127.0.0.1:0",
        "--data",
        text(&data),
        "--set",
        "segment_bytes=65536",
        "--set",
        "checkpoint_every_ms=1000",
        "--set",
        "dedupe_recent_max=1024",
    ]);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let (sender, receipts) = std::sync::mpsc::channel();
    let publishers: Vec<_> = (0..4)
        .map(|number| {
            let over = Arc::clone(&is_over);
            runtime.spawn(publish(exchange.client(), number, over, sender.clone()))
        })
        .collect();
    drop(sender);
    let mut promised = Vec::new();
    for round in 1..=3 {
        promised.extend(receipts.iter().take(700));
        let ran = backup(&data, &folder(&format!("backup-{round}")));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let made = &ran.json()[0];
        assert_eq!(made["complete"], true);
        let last = made["last"].as_u64().unwrap();
        for (envelope, receipt) in &promised {
            let sequence: u64 = receipt.cursor.rsplit('-').next().unwrap().parse().unwrap();
            assert!(sequence <= last, "round {round}: {envelope}");
        }
        let sound = deep(&data);
        assert_eq!(sound.code, Some(0), "{}", sound.out);
    }
    is_over.store(true, Ordering::Release);
    for publisher in publishers {
        runtime.block_on(publisher).unwrap();
    }
    let later: Vec<_> = receipts.iter().collect();
    exchange.kill();
    let restored = restore(&folder("backup-3"), &folder("new"));
    assert_eq!(restored.code, Some(0), "{}", restored.err);
    assert_eq!(deep(&folder("new")).code, Some(0));
    let exchange = Exchange::on(&folder("new"));
    runtime.block_on(check(&exchange.client(), &promised, &later));
    let sound = deep(&folder("new"));
    assert_eq!(sound.code, Some(0), "{}", sound.out);
}

/// Everything promised before is there and is recognised; no earlier cursor is taken for one of this
/// life; the exchange goes on.
async fn check(client: &Client, promised: &[(String, Receipt)], later: &[(String, Receipt)]) {
    let filter = Filter::new().with("conversation", "conversation-1");
    let mut stored: HashMap<bytes::Bytes, usize> = HashMap::new();
    let mut from = From::Earliest;
    loop {
        let page = client.page(&filter, &from, 1_000).await.unwrap();
        if page.envelopes.is_empty() {
            break;
        }
        for envelope in page.envelopes {
            *stored.entry(envelope).or_default() += 1;
        }
        from = From::At(page.next);
    }
    assert!(stored.values().all(|count| *count == 1));
    let socket = client.socket().await.unwrap();
    for (envelope, receipt) in promised {
        assert!(
            stored.contains_key(envelope.as_bytes()),
            "{envelope} is lost"
        );
        let again = socket.publish(envelope).await.unwrap();
        assert!(again.duplicate, "{envelope}");
        assert_ne!(
            again.cursor, receipt.cursor,
            "the same place, in another life"
        );
    }
    for (_, receipt) in promised.iter().take(20).chain(later.iter().take(20)) {
        let page = client
            .page(&filter, &From::At(receipt.cursor.clone()), 1)
            .await;
        let refused = page.unwrap_err().to_string();
        assert!(refused.contains("cursor_epoch_changed"), "{refused}");
    }
    for (envelope, _) in later {
        // Published after the backup or just before its end: there, or taken as if it were new.
        socket.publish(envelope).await.unwrap();
    }
    let new = task("message-new", "agent.b", "conversation-1");
    assert!(!socket.publish(&new).await.unwrap().duplicate);
}

/// Enough for several small files.
const MESSAGES: u64 = 900;

/// A data folder of a few files, at rest.
fn at_rest(data: &Path) {
    let exchange = Exchange::start(&[
        "--listen",
        "127.0.0.1:0",
        "--data",
        text(data),
        "--set",
        "segment_bytes=65536",
    ]);
    let lines: Vec<_> = (0..MESSAGES)
        .map(|n| task(&format!("message-{n:04}"), "agent.b", "conversation-1"))
        .collect();
    for lines in lines.chunks(100) {
        let sent = run_with(&["send", "--url", &exchange.url], &lines.join("\n"));
        assert_eq!(sent.code, Some(0), "{}", sent.err);
    }
    exchange.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(exchange.wait().success());
}

fn segments(data: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".seg"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_flipped_byte_is_found_with_its_file_its_place_and_its_record() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    at_rest(&data);
    let kept = root.path().join("backup");
    assert_eq!(backup(&data, &kept).code, Some(0));
    for folder in [&data, &kept] {
        let sound = deep(folder);
        assert_eq!(sound.code, Some(0), "{}", sound.out);
        let summary = &sound.json()[0];
        assert_eq!(
            (&summary["level"], &summary["first"]),
            (&"ok".into(), &1.into())
        );
        assert!(summary["records"].as_u64().unwrap() >= MESSAGES);
        let names = segments(folder);
        assert!(names.len() >= 3, "{names:?}");
        let path = folder.join(&names[1]);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let found = deep(folder);
        assert_eq!(found.code, Some(1), "{}", found.out);
        let finding = &found.json()[0];
        assert_eq!(
            (&finding["level"], &finding["file"]),
            (&"bad".into(), &names[1].as_str().into())
        );
        let offset = finding["offset"].as_u64().unwrap();
        assert!(offset <= middle as u64 && offset + 2_000 > middle as u64);
        let first: u64 = names[1][..20].parse().unwrap();
        assert!(finding["sequence"].as_u64().unwrap() > first);
        let words = run(&["doctor", "--deep", "--data", text(folder)]);
        assert!(
            words
                .out
                .contains(&format!("{} at byte {offset}", names[1])),
            "{}",
            words.out
        );
        assert!(words.out.contains("1 place is damaged"), "{}", words.out);
    }
    // Neither is copied as if nothing were wrong.
    for ran in [
        backup(&data, &root.path().join("another")),
        restore(&kept, &root.path().join("new")),
    ] {
        assert_eq!(ran.code, Some(1), "{}", ran.out);
        assert!(ran.err.contains("is damaged at byte"), "{}", ran.err);
    }
    let unfinished = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        text(&root.path().join("new")),
    ]);
    assert_eq!(unfinished.code, Some(1));
    assert!(
        unfinished.err.contains("run it again"),
        "{}",
        unfinished.err
    );
}

#[test]
fn a_backup_is_no_data_folder_and_nothing_is_written_over() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| root.path().join(name);
    at_rest(&folder("data"));
    let made = run(&[
        "backup",
        text(&folder("kept")),
        "--data",
        text(&folder("data")),
        "--link",
    ]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(made.out.contains("of them linked"), "{}", made.out);
    let refused = |arguments: &[&str], sentence: &str| {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {}", ran.out);
        assert!(ran.err.contains(sentence), "{arguments:?}: {}", ran.err);
    };
    let (data, kept, new) = (folder("data"), folder("kept"), folder("new"));
    let (data, kept, new) = (text(&data), text(&kept), text(&new));
    refused(
        &["serve", "--listen", "127.0.0.1:0", "--data", kept],
        "is a backup",
    );
    refused(
        &["backup", kept, "--data", data],
        "expected an empty folder",
    );
    refused(
        &["restore", kept, "--data", data],
        "expected an empty data folder",
    );
    refused(&["restore", data, "--data", new], "a finished backup");
    refused(
        &["backup", new, "--data", text(&folder("nowhere"))],
        "cannot be read",
    );
    refused(
        &["doctor", "--deep", "--data", text(&folder("nowhere"))],
        "cannot be read",
    );
    std::fs::create_dir(folder("empty")).unwrap();
    refused(
        &["doctor", "--deep", "--data", text(&folder("empty"))],
        "no journal",
    );
    assert_eq!(restore(&folder("kept"), &folder("new")).code, Some(0));
    let exchange = Exchange::on(&folder("new"));
    refused(&["restore", kept, "--data", new], "in use by process");
    let read = run(&[
        "tail",
        "--url",
        &exchange.url,
        "--from",
        "earliest",
        "--until-caught-up",
        "--json",
    ]);
    assert_eq!(read.out.lines().count() as u64, MESSAGES);
    assert_eq!(run(&["restore"]).code, Some(2));
    assert_eq!(run(&["backup"]).code, Some(2));
    // The data folder as the environment names it.
    let mut command = interwire(&["backup", text(&folder("by-environment")), "--json"]);
    command.env("INTERWIRE_DATA", data);
    let made = crate::process::finish(command, "");
    assert_eq!(made.code, Some(0), "{}", made.err);
}

#[test]
fn what_is_left_after_retention_is_backed_up_with_the_state_that_stands_for_the_rest() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| root.path().join(name);
    let data = folder("data");
    let mut arguments = vec!["--listen", "127.0.0.1:0", "--data", text(&data)];
    for setting in [
        "segment_bytes=65536",
        "checkpoint_every_ms=1000",
        "retention_records=500",
    ] {
        arguments.extend(["--set", setting]);
    }
    let exchange = Exchange::start(&arguments);
    let created = run(&[
        "sub",
        "create",
        "all",
        "--type",
        "*",
        "--url",
        &exchange.url,
    ]);
    assert_eq!(created.code, Some(0), "{}", created.err);
    // Acknowledged messages may go, others not.
    let mut sent = 0;
    let first = loop {
        let lines: Vec<_> = (sent..sent + 300)
            .map(|n| task(&format!("message-{n:05}"), "agent.b", "conversation-1"))
            .collect();
        sent += 300;
        let published = run_with(&["send", "--url", &exchange.url], &lines.join("\n"));
        assert_eq!(published.code, Some(0), "{}", published.err);
        for place in [&["agent.b"][..], &["--subscription", "all"]] {
            let mut read = vec!["inbox"];
            read.extend(place);
            read.extend(["--url", &exchange.url, "--ack", "--max", "400", "--json"]);
            assert_eq!(run(&read).code, Some(0));
        }
        let looked = deep(&data);
        assert_eq!(looked.code, Some(0), "{}", looked.out);
        let first = looked.json().last().unwrap()["first"].as_u64().unwrap();
        if first > 1 {
            break first;
        }
        assert!(sent < 60_000, "nothing is ever dropped");
    };
    let made = backup(&data, &folder("kept"));
    assert_eq!(made.code, Some(0), "{}", made.err);
    let made = &made.json()[0];
    assert_eq!(made["complete"], true);
    assert!(made["first"].as_u64().unwrap() >= first);
    exchange.kill();
    let looked = deep(&data);
    assert_eq!(looked.code, Some(0), "{}", looked.out);
    assert_eq!(restore(&folder("kept"), &folder("new")).code, Some(0));
    let exchange = Exchange::on(&folder("new"));
    let listed = run(&["sub", "ls", "--url", &exchange.url, "--json"]).json();
    assert_eq!(listed[0]["name"], "all", "its record was dropped long ago");
    let again = run_with(
        &["send", "--url", &exchange.url, "--json"],
        &task(
            &format!("message-{:05}", sent - 1),
            "agent.b",
            "conversation-1",
        ),
    );
    assert_eq!(again.json()[0]["status"], "duplicate", "{}", again.out);
}

#[test]
fn a_damaged_index_is_found_and_made_again_from_nothing() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    at_rest(&data);
    let rebuild = || run(&["doctor", "--rebuild-index", "--data", text(&data), "--json"]);
    let names = || {
        let entries = std::fs::read_dir(&data).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    // Whatever the index was when the exchange ended, this is all of it.
    let made = rebuild();
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(made.json()[0]["records"].as_u64().unwrap() >= MESSAGES);
    let before = names();
    let sound = deep(&data);
    assert_eq!(sound.code, Some(0), "{}", sound.out);
    assert_eq!(names(), before, "looking leaves nothing behind");
    let index = data.join("index.sqlite");
    let bytes = std::fs::read(&index).unwrap();
    assert!(bytes.len() > 40_000, "{} bytes", bytes.len());
    // A page of rows: what is in it is gone.
    let mut damaged = bytes.clone();
    damaged[16_384..20_480].fill(0);
    std::fs::write(&index, &damaged).unwrap();
    let found = deep(&data);
    assert_eq!(found.code, Some(1), "{}", found.out);
    let finding = &found.json()[0];
    assert_eq!(
        (&finding["level"], &finding["file"]),
        (&"bad".into(), &"index.sqlite".into())
    );
    assert!(
        finding["what"]
            .as_str()
            .unwrap()
            .contains("--rebuild-index")
    );
    let exchange = Exchange::on(&data);
    let refused = rebuild();
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("in use by process"), "{}", refused.err);
    exchange.kill();
    std::fs::remove_file(&index).unwrap();
    assert_eq!(rebuild().code, Some(0));
    assert_eq!(deep(&data).code, Some(0));
    let exchange = Exchange::on(&data);
    let client = exchange.client();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let found = runtime
        .block_on(client.message("message-0007", None))
        .unwrap();
    assert_eq!(
        found.envelope,
        task("message-0007", "agent.b", "conversation-1")
    );
}
