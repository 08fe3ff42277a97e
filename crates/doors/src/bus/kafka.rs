//! Kafka: a consumer group with offsets committed by hand inwards, an idempotent producer outwards (AEP
//! 9.6).
//!
//! An offset is committed when everything before it is durable here. A message keeps its conversation as
//! key, so that a conversation is in one partition and in order. No transactions: a break after the broker
//! stored a message and before it said so can make it send again, and readers know it by its id.

use super::intake::{Taken, answer, quoted, report};
use super::names::{self, EXCHANGE};
use super::outlet::Sent;
use super::{Intake, KafkaSettings, Link, Outlet, Part};
use broker::Entry;
use bytes::Bytes;
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use protocol::{Code, Fault, Rejection};
use rdkafka::consumer::{CommitMode, Consumer as _, ConsumerContext, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Header, Headers as _, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use rdkafka::util::Timeout;
use rdkafka::{ClientConfig, ClientContext, Message as _, Offset, TopicPartitionList};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Messages read and handed over at once.
const BATCH_MAX: usize = 256;
/// How long the client itself tries to deliver a message; in this time it makes no repeats. Shorter than
/// the lease of what is sent.
const DELIVERY_WAIT_MS: &str = "60000";
/// How long an answer may take when it is asked whether the brokers are there, and how often it is asked.
const ASK_WAIT: Duration = Duration::from_secs(3);
const ASK_EVERY: Duration = Duration::from_secs(2);

/// Runs the Kafka door until the exchange stops.
pub(crate) async fn run(settings: KafkaSettings, part: Part) {
    let link = part.link.clone();
    let producer = match producer(&settings, &link) {
        Ok(producer) => producer,
        Err(error) => {
            tracing::error!(%error, "the settings of kafka cannot be used");
            link.down(&error);
            return;
        }
    };
    let door = Door {
        producer: Mutex::new(producer),
        settings,
        link,
    };
    tokio::join!(
        door.watch(),
        door.take_in(part.intake),
        door.send_out(part.outlet)
    );
}

/// What is found at the address.
pub(crate) async fn reach(settings: &KafkaSettings, wait: Duration) -> Result<String, String> {
    let stop = crate::http::Stop::new();
    let link = Link::new(super::Kind::Kafka, stop, super::Meter::default());
    let producer = producer(settings, &link).map_err(|error| error.to_string())?;
    let asked = tokio::task::spawn_blocking(move || {
        let found = producer.client().fetch_metadata(None, wait)?;
        Ok::<_, KafkaError>((found.brokers().len(), found.topics().len()))
    });
    match asked.await {
        Ok(Ok((brokers, topics))) => {
            Ok(format!("Kafka with {brokers} brokers and {topics} topics"))
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Hears from the client what it notices by itself.
struct Ear(Link);

impl ClientContext for Ear {
    fn error(&self, error: KafkaError, reason: &str) {
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            self.0.down(&reason);
        } else {
            tracing::debug!(bus = "kafka", %error, reason, "told by the client");
        }
    }
}

impl ConsumerContext for Ear {}

type Sender = FutureProducer<Ear>;
type Reader = StreamConsumer<Ear>;

fn config(settings: &KafkaSettings) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &settings.bus.url)
        .set("client.id", "interwire")
        .set("reconnect.backoff.ms", "100")
        .set("reconnect.backoff.max.ms", "5000");
    config
}

fn producer(settings: &KafkaSettings, link: &Link) -> KafkaResult<Sender> {
    config(settings)
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("message.timeout.ms", DELIVERY_WAIT_MS)
        .set("linger.ms", "1")
        // What clients in Java do, so that one key is in one partition whoever writes.
        .set("partitioner", "murmur2_random")
        .create_with_context(Ear(link.clone()))
}

fn reader(settings: &KafkaSettings, link: &Link) -> KafkaResult<Reader> {
    config(settings)
        .set("group.id", &settings.bus.group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        .set("allow.auto.create.topics", "true")
        .set(
            "session.timeout.ms",
            settings.session_timeout_ms.to_string(),
        )
        .set(
            "heartbeat.interval.ms",
            (settings.session_timeout_ms / 3).to_string(),
        )
        .set("topic.metadata.refresh.interval.ms", "10000")
        .create_with_context(Ear(link.clone()))
}

struct Door {
    producer: Mutex<Sender>,
    settings: KafkaSettings,
    link: Link,
}

/// The header of that name.
fn header<'m>(message: &'m BorrowedMessage<'_>, name: &str) -> Option<&'m [u8]> {
    let headers = message.headers()?;
    let found = headers.iter().find(|header| header.key == name)?;
    found.value
}

impl Door {
    fn name(&self, word: &str) -> String {
        format!("{}.{word}", self.settings.bus.prefix)
    }

    fn producer(&self) -> Sender {
        self.producer.lock().clone()
    }

    /// Asks now and then whether the brokers are there, because a client that has nothing to do says
    /// nothing.
    async fn watch(&self) {
        loop {
            let (producer, topic) = (self.producer(), self.name("faults"));
            let asked = tokio::task::spawn_blocking(move || {
                let found = producer.client().fetch_metadata(Some(&topic), ASK_WAIT);
                found.map(drop)
            });
            match asked.await {
                Ok(Ok(())) => self.link.up(),
                Ok(Err(error)) => self.link.down(&error),
                Err(error) => self.link.down(&error),
            }
            tokio::select! {
                () = tokio::time::sleep(ASK_EVERY) => {}
                () = self.link.stop.asked() => return,
            }
        }
    }

    // ---- inwards ----

    async fn take_in(&self, intake: Option<Intake>) {
        let Some(intake) = intake else { return };
        let mut failures = 0;
        loop {
            match self.read(&intake, &mut failures).await {
                Ok(()) => return,
                Err(error) => self.link.down(&error),
            }
            failures += 1;
            if !self.link.rest(failures).await {
                return;
            }
        }
    }

    /// Reads the topics until the exchange stops or something breaks that the client does not mend.
    async fn read(&self, intake: &Intake, failures: &mut u32) -> KafkaResult<()> {
        let reader = Arc::new(reader(&self.settings, &self.link)?);
        let topics = self.settings.in_topics.split(',').map(str::trim);
        let topics = topics.filter(|topic| !topic.is_empty());
        let topics: Vec<String> = topics.map(|topic| self.name(topic)).collect();
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        reader.subscribe(&names)?;
        let mut last = None;
        {
            let mut chunks = reader.stream().ready_chunks(BATCH_MAX);
            loop {
                let chunk = tokio::select! {
                    chunk = chunks.next() => chunk.unwrap_or_default(),
                    () = self.link.stop.asked() => break,
                };
                let mut messages = Vec::with_capacity(chunk.len());
                for one in chunk {
                    match one {
                        Ok(message) => messages.push(message),
                        Err(KafkaError::MessageConsumptionFatal(code)) => {
                            return Err(KafkaError::MessageConsumptionFatal(code));
                        }
                        // The client goes on by itself, also with a topic that is not there yet.
                        Err(error) => {
                            tracing::debug!(bus = "kafka", %error, "told by the reader");
                        }
                    }
                }
                if messages.is_empty() {
                    continue;
                }
                *failures = 0;
                self.link.up();
                let Some(offsets) = self.take(&messages, intake).await? else {
                    break;
                };
                // A commit that is lost only means repeats, which are known by their ids.
                if let Err(error) = reader.commit(&offsets, CommitMode::Async) {
                    tracing::debug!(bus = "kafka", %error, "offsets were not committed");
                }
                last = Some(offsets);
            }
        }
        if let Some(offsets) = last {
            let (done, committed) = tokio::sync::oneshot::channel();
            // A thread that nobody waits for: without brokers the client never comes back from this.
            std::thread::spawn(move || {
                drop(reader.commit(&offsets, CommitMode::Sync));
                drop(done.send(()));
            });
            drop(tokio::time::timeout(ASK_WAIT, committed).await);
        }
        Ok(())
    }

    /// Hands messages over; gives the offsets that may be committed, none when the exchange stops before.
    async fn take(
        &self,
        messages: &[BorrowedMessage<'_>],
        intake: &Intake,
    ) -> KafkaResult<Option<TopicPartitionList>> {
        let own = intake.exchange();
        let foreign: Vec<_> = messages
            .iter()
            .filter(|message| header(message, EXCHANGE) != Some(own.as_bytes()))
            .collect();
        let bodies = foreign.iter().filter_map(|message| message.payload());
        let envelopes = bodies.map(Bytes::copy_from_slice).collect();
        let mut taken = intake.take(envelopes).await.into_iter();
        for message in &foreign {
            let one = match message.payload() {
                Some(_) => taken.next().unwrap_or(Taken::Later),
                None => Taken::Refused(Box::new(no_value())),
            };
            if matches!(one, Taken::Later) || !self.tell(message, &one).await {
                return Ok(None);
            }
        }
        let mut next: HashMap<(&str, i32), i64> = HashMap::new();
        for message in messages {
            let at = next
                .entry((message.topic(), message.partition()))
                .or_default();
            *at = (*at).max(message.offset() + 1);
        }
        let mut offsets = TopicPartitionList::new();
        for ((topic, partition), offset) in next {
            offsets.add_partition_offset(topic, partition, Offset::Offset(offset))?;
        }
        Ok(Some(offsets))
    }

    /// Answers whoever asked for one, in the topic it named, else keeps faults with the others; false when
    /// the exchange stops before the broker has it.
    async fn tell(&self, message: &BorrowedMessage<'_>, taken: &Taken) -> bool {
        let asked = header(message, "interwire-reply");
        let asked = asked.and_then(|name| std::str::from_utf8(name).ok());
        // Only below the prefix: who may write one topic may not write all.
        let asked = asked.filter(|name| name.starts_with(&self.name("replies.")));
        let (to, text) = match (asked, taken) {
            (Some(to), taken) => match answer(taken) {
                Some(text) => (to.to_owned(), text),
                None => return true,
            },
            (None, Taken::Refused(rejection)) => {
                let original = [
                    ("topic", quoted(message.topic())),
                    ("partition", message.partition().to_string()),
                    ("offset", message.offset().to_string()),
                ];
                (self.name("faults"), report(rejection, &original))
            }
            (None, Taken::Accepted(_) | Taken::PassedBy | Taken::Later) => return true,
        };
        let mut failures = 0;
        loop {
            let key = message.key().unwrap_or_default();
            let record = FutureRecord::to(&to).key(key).payload(text.as_str());
            match self.producer().send(record, Timeout::Never).await {
                Ok(_) => return true,
                Err((error, _)) => match self.judge(error) {
                    // Nothing that helps would come of trying again.
                    Sent::Refused(reason) => {
                        tracing::warn!(%reason, to, "an answer could not be given");
                        return true;
                    }
                    Sent::Confirmed => return true,
                    Sent::Unknown(why) => self.link.down(&why),
                },
            }
            failures += 1;
            if !self.link.rest(failures).await {
                return false;
            }
        }
    }

    // ---- outwards ----

    async fn send_out(&self, outlet: Option<Outlet>) {
        let Some(outlet) = outlet else { return };
        let own = outlet.exchange();
        outlet.run(|entry| self.send(entry, &own)).await;
    }

    async fn send(&self, entry: Arc<Entry>, own: &str) -> Sent {
        let routing = names::route(self.settings.bus.out_routing, &entry.header);
        let topic = names::full(&self.settings.bus.prefix, routing, names::topic_part);
        let mut headers = OwnedHeaders::new();
        let fields = names::fields(&entry.header);
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        for (key, value) in fields.chain([(EXCHANGE, own)]) {
            headers = headers.insert(Header {
                key,
                value: Some(value),
            });
        }
        let record = FutureRecord::to(&topic)
            .key(names::key(&entry.header))
            .payload(entry.envelope.as_ref())
            .headers(headers);
        match self.producer().send(record, Timeout::Never).await {
            Ok(_) => Sent::Confirmed,
            Err((error, _)) => self.judge(error),
        }
    }

    fn judge(&self, error: KafkaError) -> Sent {
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::MessageSizeTooLarge | RDKafkaErrorCode::InvalidMessageSize) => {
                Sent::Refused(error.to_string())
            }
            // The client is of no use any more; a new one begins a new sequence.
            Some(RDKafkaErrorCode::Fatal) => {
                match producer(&self.settings, &self.link) {
                    Ok(fresh) => *self.producer.lock() = fresh,
                    Err(error) => tracing::error!(%error, "no new producer could be made"),
                }
                Sent::Unknown(error.to_string())
            }
            Some(_) | None => Sent::Unknown(error.to_string()),
        }
    }
}

fn no_value() -> Rejection {
    let detail = "expected a value with the envelope, got none";
    Fault::new(Code::MissingField, "", "AEP 9.6", detail).into()
}
