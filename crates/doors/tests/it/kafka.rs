//! Kafka brokers that fail, as the mock cluster of librdkafka plays them over real connections.

use crate::world::within;
use broker::{Broker, Handle, Settings};
use interwire_doors::bus::{Buses, Settings as BusSettings};
use interwire_doors::http::Stop;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{Consumer as _, StreamConsumer};
use rdkafka::message::Message as _;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use std::collections::HashMap;
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

/// Every number once, and in its conversation in order.
fn check(numbers: &[usize]) {
    let mut last = HashMap::new();
    for n in numbers {
        let before = last.insert(n % CONVERSATIONS, *n);
        assert!(
            before.is_none_or(|before| before < *n),
            "{before:?} before {n}"
        );
    }
    assert_eq!(numbers.len(), MESSAGES);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_arrives_once_and_in_order_through_errors_and_cut_connections() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("aep.events", 3, 1).unwrap();
    let running = start(&cluster.bootstrap_servers()).await;
    for n in 0..MESSAGES {
        running
            .handle
            .accept(event("agent:near", n).into())
            .await
            .unwrap();
        match n {
            50 => cluster.request_errors(RDKafkaApiKey::Produce, &BROKEN),
            150 => cluster.broker_down(1).unwrap(),
            250 => cluster.broker_up(1).unwrap(),
            _ => {}
        }
    }
    let reader: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", cluster.bootstrap_servers())
        .set("group.id", "reader")
        .set("auto.offset.reset", "earliest")
        .create()
        .unwrap();
    reader.subscribe(&["aep.events"]).unwrap();
    let mut numbers = Vec::new();
    while numbers.len() < MESSAGES {
        let message = within(reader.recv()).await.unwrap();
        let envelope: serde_json::Value =
            serde_json::from_slice(message.payload().unwrap()).unwrap();
        numbers.push(number(envelope["id"].as_str().unwrap()));
    }
    check(&numbers);
    let more = tokio::time::timeout(Duration::from_millis(500), reader.recv()).await;
    assert!(more.is_err(), "nothing was sent twice");
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_arrives_once_and_in_order_through_errors_and_cut_connections() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("aep.events", 3, 1).unwrap();
    let running = start(&cluster.bootstrap_servers()).await;
    let writer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", cluster.bootstrap_servers())
        .set("enable.idempotence", "true")
        .create()
        .unwrap();
    for n in 0..MESSAGES {
        let (key, value) = (format!("c{}", n % CONVERSATIONS), event("agent:far", n));
        let record = FutureRecord::to("aep.events").key(&key).payload(&value);
        within(writer.send(record, Duration::from_secs(30)))
            .await
            .unwrap();
        match n {
            50 => cluster.request_errors(RDKafkaApiKey::Fetch, &BROKEN),
            100 => cluster.request_errors(RDKafkaApiKey::OffsetCommit, &BROKEN),
            200 => {
                cluster.broker_down(1).unwrap();
                tokio::time::sleep(Duration::from_millis(500)).await;
                cluster.broker_up(1).unwrap();
            }
            _ => {}
        }
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
    check(&numbers);
    running.end().await;
}
