//! Traces over HTTP: three dialects in one tree, four forms, pages, refusals.

use crate::world::{World, aee, aee_from};
use protocol::Timestamp;
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Ack, Agent, Handoff, Heading};
use serde_json::Value;

fn now() -> Timestamp {
    Timestamp::from_millis(1_772_274_600_000)
}

fn heading(id: &str, source: &str, target: &str) -> Heading {
    Heading {
        id: id.into(),
        issued_at: now(),
        source: Agent::new("agent", source),
        target: Agent::new("agent", target),
        conversation: "grp_7".into(),
    }
}

/// An AEE task that becomes a UAI-1 handoff, AEP progress and an AEE result.
async fn mixed() -> World {
    let world = World::start().await;
    let task = Aee::task("human.adam", "agent.planner", "quox.security.scan")
        .corr("CONV_7")
        .build("message-task", now());
    let handoff = Handoff::new(
        "message-task",
        "Scan it.",
        "parallelization",
        "Scan your half.",
    )
    .envelope(heading("msg_handoff", "planner", "worker"))
    .reply_to("message-task")
    .correlation("CONV_7")
    .write()
    .unwrap();
    let ack = Ack::new("msg_handoff", "accepted", now())
        .envelope(heading("msg_ack", "worker", "planner"))
        .correlation("CONV_7")
        .write()
        .unwrap();
    let progress = Aep::event("task.progress", "agent:worker")
        .target("agent:planner")
        .conversation("CONV_7")
        .cause("msg_handoff")
        .payload_json("{\"progress\":0.5}")
        .build("evt_progress", now());
    let result = Aee::task("agent.planner", "human.adam", "quox.security.scan")
        .corr("CONV_7")
        .reply_to("message-task")
        .build("message-result", now());
    for envelope in [task, handoff, ack, progress, result] {
        world.publish(&envelope).await;
    }
    world
}

fn ids(trace: &Value) -> Vec<&str> {
    let nodes = trace["nodes"].as_array().unwrap();
    nodes
        .iter()
        .map(|node| node["id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn one_trace_spans_three_dialects_from_any_of_its_names() {
    let world = mixed().await;
    let names = [
        "CONV_7",
        "message-task",
        "msg_handoff",
        "evt_progress",
        "msg_ack",
        "grp_7",
    ];
    for name in names {
        let answer = world.get(&format!("/v1/conversations/{name}")).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/json");
        let trace = answer.json();
        assert_eq!(
            ids(&trace),
            [
                "message-task",
                "msg_handoff",
                "msg_ack",
                "evt_progress",
                "message-result"
            ],
            "{name}"
        );
        assert_eq!(trace["missing"], 0);
        assert_eq!(trace["nodes"][3]["cause"]["state"], "found");
        assert_eq!(trace["nodes"][3]["dialect"], "aep");
    }
    // The acknowledgement of UAI-1 settled the handoff, and the trace says by which message.
    let trace = world.get("/v1/conversations/CONV_7").await.json();
    let delivery = &trace["nodes"][1]["deliveries"][0];
    assert_eq!(
        (&delivery["party"], &delivery["state"], &delivery["by"]),
        (&"agent:worker".into(), &"acked".into(), &"msg_ack".into())
    );
    world.stop().await;
}

#[tokio::test]
async fn people_and_pictures_get_the_same_tree() {
    let world = mixed().await;
    let text = world.get("/v1/conversations/CONV_7?format=text").await;
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    let text = text.text();
    assert!(
        text.starts_with("conversation CONV_7: 5 messages"),
        "{text}"
    );
    assert!(text.contains("│  └─ task.progress"), "{text}");
    assert!(!text.contains('\u{1b}'));
    let coloured = world
        .get("/v1/conversations/CONV_7?format=text&colour=ansi")
        .await;
    assert!(coloured.text().contains("\u{1b}[1m"));
    let mermaid = world.get("/v1/conversations/CONV_7?format=mermaid").await;
    assert_eq!(
        mermaid.header("content-type"),
        "text/vnd.mermaid; charset=utf-8"
    );
    assert!(mermaid.text().starts_with("flowchart TD\n"));
    assert_eq!(mermaid.text().matches(" --> ").count(), 4);
    let dot = world.get("/v1/conversations/CONV_7?format=dot").await;
    assert_eq!(
        dot.header("content-type"),
        "text/vnd.graphviz; charset=utf-8"
    );
    assert_eq!(dot.text().matches(" -> ").count(), 4);
    world.stop().await;
}

#[tokio::test]
async fn a_long_conversation_comes_in_pages() {
    let world = World::start().await;
    for n in 0..5 {
        let cause = format!("message-{}", n - 1);
        let task = Aee::task("agent.a", "agent.b", "a.b.c").corr("CONV_1");
        let task = if n == 0 { task } else { task.reply_to(&cause) };
        world
            .publish(&task.build(&format!("message-{n}"), now()))
            .await;
    }
    let first = world.get("/v1/conversations/CONV_1?limit=2").await;
    let next = first.header("interwire-next-cursor").to_owned();
    assert_eq!(ids(&first.json()), ["message-0", "message-1"]);
    assert_eq!(first.json()["next"], next.as_str());
    let second = world
        .get(&format!("/v1/conversations/CONV_1?limit=9&from={next}"))
        .await;
    assert_eq!(ids(&second.json()), ["message-2", "message-3", "message-4"]);
    assert_eq!(second.header("interwire-next-cursor"), "");
    let cause = &second.json()["nodes"][0]["cause"];
    assert_eq!(
        (&cause["state"], &cause["cursor"]),
        (&"elsewhere".into(), &next.into())
    );
    world.stop().await;
}

#[tokio::test]
async fn a_name_of_several_things_names_them_all_in_its_refusal() {
    let world = World::start().await;
    world.publish(&aee("message-1", "agent.b", "{}")).await;
    let other = aee_from("agent.c", "message-1", "agent.b", "{}").replace("CONV_", "OTHER_");
    world.publish(&other).await;
    let refused = world
        .get("/v1/conversations/message-1")
        .await
        .refuses(409, "ambiguous_id");
    let detail = refused["detail"].as_str().unwrap();
    for part in ["CONV_message-1", "human:adam", "OTHER_message-1", "agent:c"] {
        assert!(detail.contains(part), "{detail}");
    }
    let one = world
        .get("/v1/conversations/message-1?by=message&sender=agent.c")
        .await
        .json();
    assert_eq!(one["name"], "OTHER_message-1");
    world
        .get("/v1/conversations/nothing")
        .await
        .refuses(404, "not_found");
    for (query, pointer) in [
        ("format=svg", "/format"),
        ("by=name", "/by"),
        ("limit=0", "/limit"),
        ("limit=100001", "/limit"),
        ("colour=red", "/colour"),
        ("depth=1", "/depth"),
    ] {
        let refused = world
            .get(&format!("/v1/conversations/message-1?{query}"))
            .await
            .refuses(400, "bad_request");
        assert_eq!(refused["pointer"], pointer);
    }
    world.stop().await;
}
