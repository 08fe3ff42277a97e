//! Sessions when something goes wrong: a reader that does not read, a journal that has let go.

use crate::harmovela::{Peer, to};
use crate::world::{World, within};
use broker::{Owed, Retention, Settings};
use interwire_doors::http::HttpSettings;
use serde_json::{Value, json};

fn with_filling(id: &str) -> String {
    let mut event: Value = serde_json::from_str(&to(id, "agent:x", None)).unwrap();
    event["payload"]["filling"] = "x".repeat(500_000).into();
    event.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_does_not_take_its_data_is_given_up_and_loses_nothing() {
    let http = HttpSettings {
        write_stall_ms: 200,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let (mut slow, mut other) = (Peer::of(&world).await, Peer::of(&world).await);
    let wish = json!({"types": "agent.message.*"});
    slow.open("agent:slow", json!({"session_id": "s"})).await;
    let created = slow.subscribe("agent:slow", wish.clone()).await;
    other.subscribe("agent:other", wish).await;
    // More than all buffers between the two take; who reads is not held up.
    let count = 40;
    for number in 0..count {
        let id = format!("evt_{number:02}");
        world.publish(&with_filling(&id)).await;
        assert_eq!(other.event().await["id"], *id);
    }
    within(async {
        while !world
            .get("/metrics")
            .await
            .text()
            .contains("interwire_slow_consumer_total 1")
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (mut seen, mut last) = (0, Value::Null);
    while let Some(event) = slow.event_or_end().await {
        if event["type"] == "session.error" {
            assert_eq!(
                event["payload"]["error"]["details"]["code"],
                "slow_consumer"
            );
        } else {
            assert_eq!(event["id"], format!("evt_{seen:02}"));
            (seen, last) = (seen + 1, event["id"].clone());
        }
    }
    assert!(seen < count, "nobody was slow");
    let mut back = Peer::of(&world).await;
    // What was on its way when the connection was cut may be gone, even all of it.
    let wish = match last {
        Value::Null => json!({"session_id": "s", "from_cursor": created["payload"]["cursor"]}),
        last => json!({"session_id": "s", "last_event_id": last}),
    };
    let ready = back.open("agent:slow", wish).await;
    assert_eq!(ready["payload"]["resumed"], true, "{ready}");
    for number in seen..count {
        assert_eq!(back.event().await["id"], format!("evt_{number:02}"));
    }
    drop((slow, other, back));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_journal_has_let_go_is_told_before_what_follows_it() {
    let settings = Settings {
        segment_bytes: 4_096,
        dedupe_recent_max: 16,
        dedupe_filter_bytes_max: 256,
        checkpoint_every_records: 20,
        checkpoint_every_ms: 40,
        retention: Retention {
            records: Some(60),
            owed: Owed::Drop,
            ..Retention::default()
        },
        ..Settings::default()
    };
    let world = World::with(settings, HttpSettings::default()).await;
    let id = |number: u64| format!("evt_{number:05}");
    let first = world.publish(&to(&id(0), "agent:x", None)).await;
    let mut sent = 1;
    while world.get("/v1/messages/evt_00001").await.status != 404 || sent < 2 {
        world.publish(&to(&id(sent), "agent:x", None)).await;
        sent += 1;
        assert!(sent < 20_000, "nothing is dropped");
    }
    let mut peer = Peer::of(&world).await;
    let wish = json!({"types": "agent.message.*", "from_cursor": first["cursor"]});
    peer.subscribe("agent:b", wish).await;
    let told = peer.expect("state.invalidated").await["payload"].take();
    assert_eq!(
        (&told["reason"], &told["subscription_id"]),
        (&json!("gap"), &json!("sub_0001"))
    );
    assert_eq!(told["gap"]["reason"], "retention", "{told}");
    let missing = told["gap"]["count"].as_u64().unwrap();
    assert!(missing > 0, "{told}");
    for number in missing + 1..sent {
        assert_eq!(peer.event().await["id"], id(number), "after {told}");
    }
    peer.expect("event.replayed").await;
    drop(peer);
    world.stop().await;
}
