//! Agents that answer everything, over HTTP and WebSocket, in three dialects, are stopped.

use crate::world::{World, within};
use broker::Settings;
use interwire_doors::http::HttpSettings;
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Ack, Agent, Heading, Message};
use protocol::{DialectName, Header, Rules, Timestamp};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

fn now() -> Timestamp {
    Timestamp::from_millis(1_772_274_600_000)
}

fn read(envelope: &[u8]) -> Header {
    let reading = protocol::decode(envelope, &Rules::at(now()));
    reading.into_result().expect("a valid envelope").0
}

/// What an agent does with everything it gets.
#[derive(Clone, Copy)]
enum Habit {
    /// Sends the next agent a message caused by it.
    PassOn(DialectName, &'static str),
    /// Acknowledges it to its sender, acknowledgements too.
    Acknowledge,
}

fn agent(party: &str) -> Agent {
    let (kind, name) = party.split_once(':').expect("a kind");
    Agent::new(kind, name)
}

fn heading(id: &str, from: &str, to: &str, conversation: &str) -> Heading {
    Heading {
        id: id.into(),
        issued_at: now(),
        source: agent(from),
        target: agent(to),
        conversation: conversation.into(),
    }
}

impl Habit {
    fn answer(self, own: &str, got: &Header) -> String {
        let id = format!("after-{}-{}", own.trim_start_matches("agent:"), got.id);
        let id = &id[..id.len().min(100)];
        let corr = got.conversation.as_deref().expect("a conversation");
        match self {
            Self::PassOn(DialectName::Aee, to) => Aee::task(own, to, "quox.security.scan")
                .corr(corr)
                .reply_to(&got.id)
                .build(id, now()),
            Self::PassOn(DialectName::Aep, to) => Aep::event("environment.observed", own)
                .target(to)
                .conversation(corr)
                .cause(&got.id)
                .build(id, now()),
            Self::PassOn(DialectName::Uai, to) => Message::new("inform", "and so on")
                .envelope(heading(id, own, to, corr))
                .reply_to(&got.id)
                .correlation(corr)
                .write()
                .expect("an envelope"),
            Self::Acknowledge => Ack::new(&got.id, "received", now())
                .envelope(heading(id, own, got.sender.as_str(), corr))
                .correlation(corr)
                .write()
                .expect("an envelope"),
        }
    }
}

/// What an agent reports: what it got, and the receipt of its answer.
struct Report {
    own: &'static str,
    got: String,
    receipt: Value,
}

type Reports = mpsc::UnboundedSender<Report>;

fn over_http(
    world: &Arc<World>,
    own: &'static str,
    habit: Habit,
    reports: Reports,
) -> JoinHandle<()> {
    let world = Arc::clone(world);
    tokio::spawn(async move {
        loop {
            let path = format!("/v1/inbox/{own}?wait_ms=20000&max=1");
            let pulled = world.get(&path).await.json();
            for delivery in pulled["deliveries"].as_array().expect("deliveries") {
                let got = delivery["envelope"].to_string();
                let answer = habit.answer(own, &read(got.as_bytes()));
                let receipt = world.publish(&answer).await;
                let ack = json!({"deliveries": [delivery["delivery"]]}).to_string();
                // An acknowledgement in the dialect has settled it already.
                world
                    .post("/v1/deliveries/ack", "application/json", ack)
                    .await;
                drop(reports.send(Report { own, got, receipt }));
            }
        }
    })
}

async fn over_socket(
    world: &Arc<World>,
    own: &'static str,
    habit: Habit,
    reports: Reports,
) -> JoinHandle<()> {
    let mut socket = world.socket().await;
    let subscribe = json!({"op": "subscribe", "ref": "w", "inbox": own}).to_string();
    assert_eq!(socket.ask(subscribe).await["op"], "subscribed");
    tokio::spawn(async move {
        // Receipts come in the order of the publishes.
        let mut waiting = VecDeque::new();
        loop {
            let frame = socket.frame().await;
            match frame["op"].as_str() {
                Some("deliver") => {
                    let got = frame["envelope"].to_string();
                    let answer = habit.answer(own, &read(got.as_bytes()));
                    let publish =
                        format!("{{\"op\":\"publish\",\"ref\":\"p\",\"envelope\":{answer}}}");
                    socket.send(publish).await;
                    let ack = json!({"op": "ack", "ref": "a", "deliveries": [frame["delivery"]]});
                    socket.send(ack.to_string()).await;
                    waiting.push_back(got);
                }
                Some("receipt") => {
                    let receipt = frame["receipt"].clone();
                    let got = waiting.pop_front().expect("a publish");
                    drop(reports.send(Report { own, got, receipt }));
                }
                Some("settled") => {}
                other => panic!("unexpected {other:?}: {frame}"),
            }
        }
    })
}

fn limited(hops_max: u32, pair_turns_max: u32) -> Settings {
    let mut settings = Settings::default();
    settings.exchange.loops.hops_max = hops_max;
    settings.exchange.loops.pair_turns_max = pair_turns_max;
    settings
}

/// `count` reports in journal order, and the one of somebody who got an error of the exchange and has
/// answered even that. Agents report when they are done, which may be after the next one is.
async fn until_told(
    reports: &mut mpsc::UnboundedReceiver<Report>,
    count: usize,
) -> (Vec<Report>, Report) {
    let (mut before, mut told) = (Vec::new(), None);
    while before.len() < count || told.is_none() {
        let report = within(reports.recv()).await.expect("a report");
        if read(report.got.as_bytes()).sender.as_str() == "service:interwire" {
            told = Some(report);
        } else {
            before.push(report);
        }
    }
    before.sort_by_key(|report| {
        let cursor = report.receipt["cursor"].as_str().expect("a cursor");
        let (_, sequence) = cursor.rsplit_once('-').expect("a sequence");
        sequence.parse::<u64>().expect("a number")
    });
    (before, told.expect("told"))
}

fn code_and_path(error: &str) -> (String, Vec<String>) {
    let error: Value = serde_json::from_str(error).expect("JSON");
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|text| text.as_str().expect("text").to_owned())
            .collect()
    };
    let words = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|one| {
            one["detail"]
                .as_str()
                .expect("text")
                .split(' ')
                .next()
                .expect("an id")
                .to_owned()
        })
        .collect()
    };
    let code = |value: &Value| value.as_str().expect("a code").to_owned();
    let (aee, aep, uai) = (
        &error["payload"],
        &error["payload"]["error"],
        &error["body"],
    );
    if uai.is_object() {
        (code(&uai["code"]), words(&uai["errors"]))
    } else if aep.is_object() {
        (code(&aep["code"]), texts(&aep["details"]["path"]))
    } else {
        (code(&aee["code"]), texts(&aee["path"]))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t10_a_triangle_of_agents_stops_at_hop_8_and_the_last_sender_is_told() {
    let dialects = [DialectName::Aee, DialectName::Aep, DialectName::Uai];
    for turn in 0..3 {
        let world = Arc::new(World::with(limited(8, 0), HttpSettings::default()).await);
        let (reports, mut heard) = mpsc::unbounded_channel();
        let of = |at: usize, to| Habit::PassOn(dialects[(at + turn) % 3], to);
        let agents = [
            over_http(&world, "agent:a", of(0, "agent:b"), reports.clone()),
            over_socket(&world, "agent:b", of(1, "agent:c"), reports.clone()).await,
            over_http(&world, "agent:c", of(2, "agent:a"), reports.clone()),
        ];
        let task = Aee::task("human.adam", "agent.a", "quox.security.scan")
            .corr("CONV_LOOP")
            .build("message-0", now());
        world.publish(&task).await;
        let (before, told) = until_told(&mut heard, 8).await;
        // The human's task, and eight automatic answers, of which the last went to nobody.
        assert_eq!(before.len(), 8);
        let last = &before[7];
        assert_eq!((last.own, told.own), ("agent:b", "agent:b"));
        assert_eq!(last.receipt["recipients"][0]["state"], "dead");
        assert_eq!(last.receipt["warnings"][0]["code"], "hop_limit");
        assert!(
            before[..7]
                .iter()
                .all(|one| one.receipt["recipients"][0]["state"] == "stored")
        );
        let error = read(told.got.as_bytes());
        assert_eq!(
            error.dialect,
            dialects[(1 + turn) % 3],
            "in the sender's own dialect"
        );
        assert_eq!(error.cause.as_deref(), last.receipt["id"].as_str());
        let (code, path) = code_and_path(&told.got);
        assert_eq!(code, "hop_limit");
        let mut chain = vec!["message-0".to_owned()];
        chain.extend(
            before
                .iter()
                .map(|one| one.receipt["id"].as_str().expect("an id").to_owned()),
        );
        assert_eq!(path, chain);
        // The agent answered even the error; that went to nobody, in silence.
        assert_eq!(told.receipt["recipients"][0]["state"], "dead");
        let letters = within(world.handle.dead_letters(None, None, 10))
            .await
            .expect("dead letters");
        let reasons: Vec<_> = letters.iter().map(|letter| &*letter.reason).collect();
        assert_eq!(reasons, ["hop_limit", "hop_limit"]);
        let metrics = world.get("/metrics").await.text();
        assert!(
            metrics.contains("interwire_loop_stopped_total{reason=\"hop_limit\"} 2"),
            "{metrics}"
        );
        // The whole loop in one trace, across dialects, with its end.
        let trace = world.get("/v1/conversations/CONV_LOOP").await.json();
        assert_eq!(
            (&trace["messages"], &trace["missing"]),
            (&11.into(), &0.into()),
            "{trace}"
        );
        let dead = &trace["nodes"][8]["deliveries"][0];
        assert_eq!(
            (&dead["state"], &dead["reason"]),
            (&"dead".into(), &"hop_limit".into())
        );
        agents.iter().for_each(JoinHandle::abort);
        for agent in agents {
            drop(agent.await);
        }
        Arc::into_inner(world).expect("nobody else").stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t10_acknowledgements_of_acknowledgements_stop_at_the_budget_of_the_pair() {
    let world = Arc::new(World::with(limited(0, 10), HttpSettings::default()).await);
    let (reports, mut heard) = mpsc::unbounded_channel();
    let agents = [
        over_http(&world, "agent:a", Habit::Acknowledge, reports.clone()),
        over_socket(&world, "agent:b", Habit::Acknowledge, reports.clone()).await,
    ];
    let message = Message::new("inform", "hello")
        .envelope(heading("message-0", "agent:a", "agent:b", "grp_1"))
        .write()
        .expect("an envelope");
    world.publish(&message).await;
    let (before, told) = until_told(&mut heard, 12).await;
    // The first acknowledgement, ten of acknowledgements, and the one that is too many.
    assert_eq!(before.len(), 12);
    assert_eq!(before[11].receipt["recipients"][0]["state"], "dead");
    assert_eq!(code_and_path(&told.got).0, "pair_budget");
    let metrics = world.get("/metrics").await.text();
    assert!(
        metrics.contains("interwire_loop_stopped_total{reason=\"pair_budget\"} 1"),
        "{metrics}"
    );
    agents.iter().for_each(JoinHandle::abort);
    for agent in agents {
        drop(agent.await);
    }
    Arc::into_inner(world).expect("nobody else").stop().await;
}
