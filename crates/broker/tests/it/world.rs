//! A broker in memory or in a folder, and envelopes to put into it.

use bytes::Bytes;
use interwire_broker::{Broker, Handle, Published, Settings, Storage};
use std::path::Path;
use std::time::{Duration, Instant};

pub fn in_memory() -> Broker {
    Broker::open(Settings::default(), 7).unwrap()
}

pub fn in_folder(path: &Path) -> Broker {
    let storage = Storage::Folder(path.to_owned());
    Broker::open(
        Settings {
            storage,
            ..Settings::default()
        },
        7,
    )
    .unwrap()
}

/// Everything small, so that files of keys and checkpoints come soon; the storage is to be set.
pub fn small() -> Settings {
    Settings {
        segment_bytes: 4_096,
        dedupe_recent_max: 16,
        dedupe_filter_bytes_max: 256,
        checkpoint_every_records: 20,
        checkpoint_every_ms: 40,
        ring_bytes_max: 2_048,
        channel_matches_max: 8,
        ..Settings::default()
    }
}

/// Waits for what a thread behind the loop does; fails after a long time.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Names of the files in a folder that end like this.
pub fn files(folder: &Path, end: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(end));
    names.sort();
    names
}

/// An AEE event: `{id}` from `agent.a` to `to`, in conversation `conv-0001`.
pub fn event(id: &str, to: &str, payload: &str) -> String {
    format!(
        r#"{{"v":"1","id":"{id}","ts":"2026-11-30T16:00:00Z","type":"event","from":"agent.a","to":"{to}","intent":"test.thing.happened","corr":"conv-0001","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{payload},"sig":null}}"#
    )
}

pub async fn publish(handle: &Handle, envelope: &str) -> Published {
    handle
        .accept(Bytes::copy_from_slice(envelope.as_bytes()))
        .await
}
