//! A broker in memory or in a folder, and envelopes to put into it.

use bytes::Bytes;
use interwire_broker::{Broker, Handle, Published, Settings, Storage};
use std::path::Path;

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
