//! NATS. With JetStream: a durable pull consumer inwards, publishes with `Nats-Msg-Id` and their
//! confirmation outwards. Beside it, or alone, core NATS: requests that are answered with a receipt or a
//! fault (AEP 9.5).
//!
//! After a break the server still counts what it had given to the lost connection as on its way, and would
//! give newer messages first. So the reader waits until that time is over: order is kept, at the price of
//! `nats.ack_wait_ms` after each break.

mod connect;

pub(crate) use connect::reach;

use super::intake::{Taken, answer, quoted, report};
use super::names::{self, EXCHANGE};
use super::outlet::Sent;
use super::{Intake, Link, NatsSettings, Outlet, Part};
use async_nats::connection::State;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{self, StorageType};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Client, HeaderMap, Message};
use broker::Entry;
use connect::{Connections, connect_until_stop, context};
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Messages read and handed over at once.
const BATCH_MAX: usize = 256;
/// How long one request for messages waits at the server.
const FETCH_WAIT: Duration = Duration::from_secs(5);
/// How long a confirmation, or an answer of the server about a stream, may take.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// How long the last acknowledgements may take to leave.
const FLUSH_WAIT: Duration = Duration::from_secs(1);

/// Runs the NATS door until the exchange stops.
pub(crate) async fn run(settings: NatsSettings, part: Part) {
    let link = part.link.clone();
    let connections = Arc::new(watch::Sender::new(0));
    let Some(client) = connect_until_stop(&settings, &link, &connections).await else {
        return;
    };
    let door = Arc::new(Door {
        jetstream: context(&client),
        client,
        settings,
        link,
        connections,
    });
    let requests = part.intake.as_ref().map(Intake::of_requests);
    tokio::join!(
        door.answer_requests(requests),
        door.take_in(part.intake),
        door.send_out(part.outlet)
    );
    // Acknowledgements that are not written yet would only mean repeats.
    drop(tokio::time::timeout(FLUSH_WAIT, door.client.flush()).await);
}

struct Door {
    client: Client,
    jetstream: jetstream::Context,
    settings: NatsSettings,
    link: Link,
    /// Connections so far.
    connections: Connections,
}

/// Why reading stopped.
enum End {
    /// The exchange stops.
    Stop,
    /// There is another connection; what was on its way over the last one may be lost.
    Anew,
    /// The bus does not answer as it should.
    Broken(String),
}

impl Door {
    fn name(&self, word: &str) -> String {
        format!("{}.{word}", self.settings.bus.prefix)
    }

    // ---- core NATS ----

    /// Requests to the exchange: `<prefix>.publish`, and everything below the prefix without JetStream.
    async fn answer_requests(&self, requests: Option<Intake>) {
        let Some(requests) = requests else { return };
        self.listen(&self.name("publish"), requests).await;
    }

    /// Reads a subject as one of the group until the exchange stops.
    async fn listen(&self, subject: &str, intake: Intake) {
        let group = self.settings.bus.group.clone();
        let mut failures = 0;
        loop {
            match self
                .client
                .queue_subscribe(subject.to_owned(), group.clone())
                .await
            {
                Ok(subscriber) => {
                    let mut chunks = subscriber.ready_chunks(BATCH_MAX);
                    loop {
                        tokio::select! {
                            chunk = chunks.next() => match chunk {
                                Some(messages) => self.take_core(messages, &intake).await,
                                None => break,
                            },
                            () = self.link.stop.asked() => return,
                        }
                    }
                }
                Err(error) => self.link.down(&error),
            }
            failures += 1;
            if !self.link.rest(failures).await {
                return;
            }
        }
    }

    async fn take_core(&self, messages: Vec<Message>, intake: &Intake) {
        let own = intake.exchange();
        let faults = self.name("faults");
        let messages: Vec<Message> = messages
            .into_iter()
            .filter(|message| {
                *message.subject != *faults && !is_from(message.headers.as_ref(), &own)
            })
            .collect();
        let envelopes = messages.iter().map(|one| one.payload.clone()).collect();
        let taken = intake.take(envelopes).await;
        for (message, taken) in messages.iter().zip(&taken) {
            let told = match (&message.reply, taken) {
                (Some(reply), taken) => {
                    let text = answer(taken).unwrap_or_else(|| not_taken(taken));
                    self.client.publish(reply.clone(), text.into()).await
                }
                (None, Taken::Refused(rejection)) => {
                    let original = [("subject", quoted(&message.subject))];
                    let text = report(rejection, &original);
                    self.client.publish(faults.clone(), text.into()).await
                }
                (None, Taken::Accepted(_) | Taken::PassedBy | Taken::Later) => Ok(()),
            };
            if let Err(error) = told {
                self.link.down(&error);
            }
        }
    }

    // ---- inwards ----

    async fn take_in(&self, intake: Option<Intake>) {
        let Some(intake) = intake else { return };
        if !self.settings.jetstream {
            let all = format!("{}.*.>", self.settings.bus.prefix);
            self.listen(&all, intake).await;
            return;
        }
        let mut failures = 0;
        loop {
            match self.read_stream(&intake, &mut failures).await {
                End::Stop => return,
                End::Anew => failures = 0,
                End::Broken(why) => {
                    self.link.down(&why);
                    failures += 1;
                    if !self.link.rest(failures).await {
                        return;
                    }
                }
            }
        }
    }

    /// Reads the stream until something breaks.
    async fn read_stream(&self, intake: &Intake, failures: &mut u32) -> End {
        if self.client.connection_state() != State::Connected {
            return End::Broken("not connected".into());
        }
        let mut connections = self.connections.subscribe();
        let mut consumer = match self.consumer().await {
            Ok(consumer) => consumer,
            Err(why) => return End::Broken(why),
        };
        self.link.up();
        match self.wait_for_lost(&mut consumer).await {
            Ok(true) => {}
            Ok(false) => return End::Stop,
            Err(why) => return End::Broken(why),
        }
        loop {
            let request = consumer
                .batch()
                .max_messages(BATCH_MAX)
                .expires(FETCH_WAIT)
                .messages();
            let batch = match request.await {
                Ok(batch) => batch,
                Err(error) => return End::Broken(error.to_string()),
            };
            let mut chunks = batch.ready_chunks(BATCH_MAX);
            loop {
                let chunk = tokio::select! {
                    chunk = chunks.next() => chunk,
                    () = self.link.stop.asked() => return End::Stop,
                    // The sender lives as long as this door.
                    _ = connections.changed() => return End::Anew,
                };
                let Some(chunk) = chunk else { break };
                let mut messages = Vec::with_capacity(chunk.len());
                let mut broken = None;
                for one in chunk {
                    match one {
                        Ok(message) => messages.push(message),
                        Err(error) => broken = Some(error.to_string()),
                    }
                }
                if !messages.is_empty() {
                    *failures = 0;
                }
                if let Err(end) = self.take_stream(messages, intake).await {
                    return end;
                }
                if let Some(why) = broken {
                    return End::Broken(why);
                }
            }
        }
    }

    /// Hands over what the stream gave, and confirms it there when it is durable here.
    async fn take_stream(
        &self,
        messages: Vec<jetstream::Message>,
        intake: &Intake,
    ) -> Result<(), End> {
        let own = intake.exchange();
        let faults = self.name("faults");
        let is_own = |one: &jetstream::Message| {
            *one.subject == *faults || is_from(one.headers.as_ref(), &own)
        };
        let foreign: Vec<&jetstream::Message> =
            messages.iter().filter(|one| !is_own(one)).collect();
        let envelopes = foreign.iter().map(|one| one.payload.clone()).collect();
        let taken = intake.take(envelopes).await;
        for (message, taken) in foreign.iter().zip(&taken) {
            match taken {
                Taken::Later => return Err(End::Stop),
                Taken::Refused(rejection) => {
                    let mut original = vec![("subject", quoted(&message.subject))];
                    if let Ok(info) = message.info() {
                        original.push(("stream", quoted(info.stream)));
                        original.push(("sequence", info.stream_sequence.to_string()));
                    }
                    let text = report(rejection, &original);
                    self.keep_fault(&faults, text).await.map_err(End::Broken)?;
                }
                Taken::Accepted(_) | Taken::PassedBy => {}
            }
            self.confirm(message).await?;
        }
        for message in messages.iter().filter(|one| is_own(one)) {
            self.confirm(message).await?;
        }
        Ok(())
    }

    async fn confirm(&self, message: &jetstream::Message) -> Result<(), End> {
        // A lost acknowledgement only means a repeat, which is known by its id.
        let confirmed = message.ack().await;
        confirmed.map_err(|error| End::Broken(error.to_string()))
    }

    /// Puts a fault into the stream, so that the original may be confirmed.
    async fn keep_fault(&self, faults: &str, text: String) -> Result<(), String> {
        let sent = self.jetstream.publish(faults.to_owned(), text.into()).await;
        match sent {
            Ok(confirmation) => match confirmation.await {
                Ok(_) => Ok(()),
                // A stream that somebody made may not have that subject; who listens has it anyway.
                Err(error) if error.kind() == PublishErrorKind::StreamNotFound => Ok(()),
                Err(error) => Err(error.to_string()),
            },
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits until the server gives again what it had given before a break; false when the exchange
    /// stops.
    async fn wait_for_lost(&self, consumer: &mut PullConsumer) -> Result<bool, String> {
        let info = consumer.info().await.map_err(|error| error.to_string())?;
        if info.num_ack_pending == 0 {
            return Ok(true);
        }
        tracing::info!(
            pending = info.num_ack_pending,
            "waiting for what the last connection was given"
        );
        tokio::select! {
            () = tokio::time::sleep(info.config.ack_wait) => Ok(true),
            () = self.link.stop.asked() => Ok(false),
        }
    }

    /// The stream: the one of that name, else the one that has the subjects, else a new one.
    async fn stream(&self) -> Result<stream::Stream, String> {
        let name = &self.settings.stream;
        if let Ok(stream) = self.jetstream.get_stream(name).await {
            return Ok(stream);
        }
        let types = self.name("type.>");
        if let Ok(other) = self.jetstream.stream_by_subject(types).await {
            let found = self.jetstream.get_stream(other).await;
            return found.map_err(|error| error.to_string());
        }
        let words = [
            "type.>", "topic.>", "source.>", "sess.>", "conv.>", "event", "events", "faults",
        ];
        let made = self.jetstream.create_stream(stream::Config {
            name: name.clone(),
            // Not `publish`: who asks there wants the exchange's answer, not the stream's.
            subjects: words.iter().map(|word| self.name(word)).collect(),
            storage: StorageType::File,
            duplicate_window: Duration::from_millis(self.settings.duplicate_window_ms),
            ..stream::Config::default()
        });
        made.await.map_err(|error| error.to_string())
    }

    async fn consumer(&self) -> Result<PullConsumer, String> {
        let stream = self.stream().await?;
        let group = self.settings.bus.group.as_str();
        let config = pull::Config {
            durable_name: Some(group.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: Duration::from_millis(self.settings.ack_wait_ms),
            max_ack_pending: 4 * BATCH_MAX as i64,
            filter_subject: self.settings.in_subject.clone(),
            ..pull::Config::default()
        };
        let consumer = stream.get_or_create_consumer(group, config).await;
        consumer.map_err(|error| error.to_string())
    }

    // ---- outwards ----

    async fn send_out(&self, outlet: Option<Outlet>) {
        let Some(outlet) = outlet else { return };
        let own = outlet.exchange();
        if self.settings.jetstream {
            let mut failures = 0;
            while let Err(why) = self.stream().await {
                self.link.down(&why);
                failures += 1;
                if !self.link.rest(failures).await {
                    return;
                }
            }
        }
        outlet.run(|entry| self.send(entry, &own)).await;
    }

    async fn send(&self, entry: Arc<Entry>, own: &str) -> Sent {
        let routing = names::route(self.settings.bus.out_routing, &entry.header);
        let subject = names::full(&self.settings.bus.prefix, routing, names::subject_tokens);
        let message_id = names::message_id(&entry.header);
        let mut headers = HeaderMap::new();
        headers.insert(EXCHANGE, own);
        headers.insert("Nats-Msg-Id", message_id.as_str());
        let payload = entry.envelope.clone();
        if !self.settings.jetstream {
            if self.client.connection_state() != State::Connected {
                return Sent::Unknown("not connected".into());
            }
            if payload.len() > self.client.max_payload() {
                return Sent::Refused(too_large(self.client.max_payload()));
            }
            let sent = self.client.publish_with_headers(subject, headers, payload);
            return match sent.await {
                Ok(()) => Sent::Confirmed,
                Err(error) => Sent::Unknown(error.to_string()),
            };
        }
        let sent = self
            .jetstream
            .publish_with_headers(subject, headers, payload);
        match sent.await {
            Ok(confirmation) => match confirmation.await {
                Ok(_) => Sent::Confirmed,
                Err(error) => self.judge(&error),
            },
            Err(error) => self.judge(&error),
        }
    }

    fn judge(&self, error: &PublishError) -> Sent {
        let source = std::error::Error::source(error);
        let told = source.and_then(|source| source.downcast_ref::<jetstream::Error>());
        let is_over_limit =
            told.is_some_and(|told| told.error_code() == ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM);
        match error.kind() {
            PublishErrorKind::MaxPayloadExceeded => {
                Sent::Refused(too_large(self.client.max_payload()))
            }
            _ if is_over_limit => Sent::Refused(error.to_string()),
            PublishErrorKind::StreamNotFound
            | PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence
            | PublishErrorKind::TimedOut
            | PublishErrorKind::BrokenPipe
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::Other => Sent::Unknown(error.to_string()),
        }
    }
}

fn too_large(max: usize) -> String {
    format!("expected at most {max} bytes, which is what the NATS server takes, got more")
}

/// What somebody who asked is told when there is neither receipt nor fault.
fn not_taken(taken: &Taken) -> String {
    match taken {
        Taken::Later => "{\"later\":true}".into(),
        Taken::PassedBy | Taken::Accepted(_) | Taken::Refused(_) => "{\"passed_by\":true}".into(),
    }
}

fn is_from(headers: Option<&HeaderMap>, own: &str) -> bool {
    let from = headers.and_then(|headers| headers.get(EXCHANGE));
    from.is_some_and(|exchange| exchange.as_str() == own)
}
