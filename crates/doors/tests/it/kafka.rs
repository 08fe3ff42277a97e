//! Kafka brokers that fail, as the mock cluster of librdkafka plays them over real connections.

use crate::world::within;
use broker::{Broker, Handle, Settings};
use interwire_doors::bus::{Buses, Settings as BusSettings};
use interwire_doors::http::Stop;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{Consumer as _, StreamConsumer};
use rdkafka::message::Message as _;
use rdkafka::mocking::{MockCluster, MockCoordinator};
use rdkafka::producer::{DefaultProducerContext, FutureProducer, FutureRecord};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::task::JoinHandle;

const MESSAGES: usize = 300;
const CONVERSATIONS: usize = 5;

fn event(source: &str, n: usize) -> String {
    let conversation = n % CONVERSATIONS;
    format!(
        "{{\"spec_version\":\"0.2\",\"id\":\"m-{n}\",\"type\":\"environment.observed\",\"source\":\"{source}\",\
         \"created_at\":\"2026-03-01T10:00:00Z\",\"conversation_id\":\"c{conversation}\",\"payload\":{{}}}}"
    )
}

struct Running {
    broker: Broker,
    handle: Handle,
    stop: Stop,
    run: JoinHandle<()>,
}

async fn start(bootstrap: &str) -> Running {
    let broker = Broker::open(Settings::default(), 7).unwrap();
    let (handle, stop) = (broker.handle(), Stop::new());
    let mut settings = BusSettings::default();
    settings.kafka.bus.url = bootstrap.into();
    settings.kafka.session_timeout_ms = 6_000;
    let buses = Buses::prepare(&settings, &handle, &stop).await.unwrap();
    let run = tokio::spawn(buses.run(Duration::from_secs(10)));
    Running {
        broker,
        handle,
        stop,
        run,
    }
}

impl Running {
    async fn end(self) {
        self.stop.ask();
        within(self.run).await.unwrap();
        within(self.broker.close()).await;
    }
}

/// Every number, in its conversation in order, a repeat right behind its first; how many repeats.
fn check(numbers: &[usize]) -> usize {
    let mut last = HashMap::new();
    for n in numbers {
        let before = last.insert(n % CONVERSATIONS, *n);
        assert!(
            before.is_none_or(|before| before <= *n),
            "{before:?} before {n} in {numbers:?}"
        );
    }
    let seen: HashSet<_> = numbers.iter().collect();
    assert_eq!(seen.len(), MESSAGES);
    numbers.len() - seen.len()
}

fn number(id: &str) -> usize {
    id.trim_start_matches("m-").parse().unwrap()
}

const BROKEN: [RDKafkaRespErr; 4] = [
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
    // The broker took it and says that it does not know.
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR__TRANSPORT,
];

type Cluster = MockCluster<'static, DefaultProducerContext>;

fn cluster(brokers: i32) -> Cluster {
    let cluster = MockCluster::new(brokers).unwrap();
    cluster.create_topic("aep.events", 3, brokers).unwrap();
    cluster
}

/// What the exchange is given goes out, with `breaks` before each message.
async fn sent_out(cluster: Cluster, breaks: impl Fn(usize, &Cluster)) {
    let running = start(&cluster.bootstrap_servers()).await;
    for n in 0..MESSAGES {
        breaks(n, &cluster);
        let sent = running.handle.accept(event("agent:near", n).into());
        sent.await.unwrap();
    }
    let reader: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", cluster.bootstrap_servers())
        .set("group.id", "reader")
        .set("auto.offset.reset", "earliest")
        .create()
        .unwrap();
    reader.subscribe(&["aep.events"]).unwrap();
    let (mut numbers, mut seen) = (Vec::new(), HashSet::new());
    let quiet = Duration::from_millis(500);
    loop {
        let message = match tokio::time::timeout(quiet, reader.recv()).await {
            Ok(message) => message.unwrap(),
            Err(_) if seen.len() == MESSAGES => break,
            Err(_) => within(reader.recv()).await.unwrap(),
        };
        let envelope: serde_json::Value =
            serde_json::from_slice(message.payload().unwrap()).unwrap();
        let n = number(envelope["id"].as_str().unwrap());
        numbers.push(n);
        seen.insert(n);
    }
    // This cluster stores again what it had stored when the connection broke: unlike brokers it looks at
    // sequences only in transactions.
    let repeats = check(&numbers);
    assert!(repeats <= CONVERSATIONS * 2, "{repeats} repeats");
    running.end().await;
}

/// What others write comes in, with `breaks` before each message.
async fn taken_in(cluster: Cluster, breaks: impl Fn(usize, &Cluster)) {
    let running = start(&cluster.bootstrap_servers()).await;
    let writer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", cluster.bootstrap_servers())
        .set("enable.idempotence", "true")
        .create()
        .unwrap();
    for n in 0..MESSAGES {
        breaks(n, &cluster);
        let (key, value) = (format!("c{}", n % CONVERSATIONS), event("agent:far", n));
        let record = FutureRecord::to("aep.events").key(&key).payload(&value);
        within(writer.send(record, Duration::from_secs(30)))
            .await
            .unwrap();
    }
    let filter = protocol::Filter::default();
    let mut tail = running
        .handle
        .tail(filter, &broker::From::Earliest)
        .await
        .unwrap();
    let mut numbers = Vec::new();
    while numbers.len() < MESSAGES {
        let batch = within(tail.next(64)).await.unwrap();
        numbers.extend(batch.entries.iter().map(|entry| number(&entry.header.id)));
    }
    assert_eq!(check(&numbers), 0, "nothing is there twice");
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_arrives_in_order_through_errors_and_cut_connections() {
    sent_out(cluster(1), |n, cluster| match n {
        50 => cluster.request_errors(RDKafkaApiKey::Produce, &BROKEN),
        150 => cluster.broker_down(1).unwrap(),
        250 => cluster.broker_up(1).unwrap(),
        _ => {}
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_arrives_once_and_in_order_through_errors_and_cut_connections() {
    taken_in(cluster(1), |n, cluster| match n {
        50 => cluster.request_errors(RDKafkaApiKey::Fetch, &BROKEN),
        100 => cluster.request_errors(RDKafkaApiKey::OffsetCommit, &BROKEN),
        200 => {
            cluster.broker_down(1).unwrap();
            std::thread::sleep(Duration::from_millis(500));
            cluster.broker_up(1).unwrap();
        }
        _ => {}
    })
    .await;
}

/// Every partition has another leader.
fn move_leaders(cluster: &Cluster, broker: i32) {
    for partition in 0..3 {
        let moved = cluster.partition_leader("aep.events", partition, Some(broker));
        moved.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_arrives_in_order_while_partitions_move() {
    sent_out(cluster(3), |n, cluster| match n {
        // Nobody leads, for a while.
        40 => cluster.partition_leader("aep.events", 0, None).unwrap(),
        80 | 160 | 240 => {
            let broker = i32::try_from(n / 80).unwrap();
            move_leaders(cluster, broker);
        }
        200 => cluster.broker_down(2).unwrap(),
        280 => cluster.broker_up(2).unwrap(),
        _ => {}
    })
    .await;
}

const MOVED: [RDKafkaRespErr; 4] = [
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_arrives_once_and_in_order_while_the_coordinator_moves() {
    let group = || MockCoordinator::Group("interwire".into());
    let first = cluster(3);
    first.coordinator(group(), 1).unwrap();
    taken_in(first, |n, cluster| match n {
        50 => cluster.coordinator(group(), 2).unwrap(),
        100 => cluster.request_errors(RDKafkaApiKey::OffsetCommit, &MOVED),
        150 => {
            cluster.request_errors(RDKafkaApiKey::Heartbeat, &MOVED);
            cluster.request_errors(RDKafkaApiKey::JoinGroup, &MOVED[..3]);
            cluster.coordinator(group(), 3).unwrap();
        }
        // It is gone while another takes over.
        200 => {
            cluster.coordinator(group(), 1).unwrap();
            move_leaders(cluster, 2);
            cluster.broker_down(3).unwrap();
        }
        250 => cluster.broker_up(3).unwrap(),
        _ => {}
    })
    .await;
}
