//! The two tasks behind a socket: one writes what is queued, one hands out what comes.

use super::frame::Incoming;
use super::{Parting, SocketDelivery, SocketEvent};
use crate::{Error, Gap, MessageReceipt, Problem};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;
type Events = mpsc::Sender<Result<SocketEvent, Error>>;

/// Frames that may wait to be written before callers wait.
const OUT_QUEUE: usize = 1_024;

/// What answers a call.
#[derive(Debug)]
pub(super) enum Answer {
    Receipt(String),
    Subscribed { cursor: String, consumer: String },
    Settled(String),
    Pong,
}

impl Answer {
    pub(super) fn unexpected(self, expected: &'static str) -> Error {
        Error::Answer {
            expected,
            got: format!("{self:?}"),
        }
    }
}

/// A question that is under way.
#[derive(Debug)]
pub(super) struct Asked {
    wire: Arc<Wire>,
    answer: oneshot::Receiver<Result<Answer, Error>>,
}

impl Asked {
    pub(super) async fn answer(self) -> Result<Answer, Error> {
        self.answer.await.unwrap_or_else(|_| Err(self.wire.ended()))
    }
}

type Caller = oneshot::Sender<Result<Answer, Error>>;

/// Who waits for what, by reference.
#[derive(Debug, Default)]
struct Waiting {
    callers: HashMap<u64, Caller>,
    readers: HashMap<u64, Events>,
    /// Set when nothing more will come.
    ended: Option<Ended>,
}

/// Why the connection is over.
#[derive(Clone, Debug)]
enum Ended {
    Closed,
    Refused(Box<Problem>),
    Broken(String),
}

#[derive(Debug)]
pub(super) struct Wire {
    url: String,
    out: mpsc::Sender<String>,
    waiting: Arc<Mutex<Waiting>>,
    references: AtomicU64,
    reader: tokio::task::AbortHandle,
}

impl Wire {
    pub(super) fn start(url: String, stream: Stream) -> Self {
        let (sink, frames) = stream.split();
        let (out, queue) = mpsc::channel(OUT_QUEUE);
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        tokio::spawn(write(sink, queue));
        let reader = tokio::spawn(read(frames, Arc::clone(&waiting))).abort_handle();
        Self {
            url,
            out,
            waiting,
            references: AtomicU64::new(1),
            reader,
        }
    }

    /// One question, one answer. `members` follow `op` and `ref`, each with a comma before it.
    pub(super) async fn call(self: &Arc<Self>, op: &str, members: &str) -> Result<Answer, Error> {
        self.begin(op, members).await?.answer().await
    }

    /// Queues one question; the answer is awaited apart, so that many can be under way in order.
    pub(super) async fn begin(self: &Arc<Self>, op: &str, members: &str) -> Result<Asked, Error> {
        let reference = self.references.fetch_add(1, Ordering::Relaxed);
        let answer = self.ask(reference, op, members, None).await?;
        Ok(Asked {
            wire: Arc::clone(self),
            answer,
        })
    }

    /// A question whose answer is followed by events under the same reference.
    pub(super) async fn subscribe(
        &self,
        op: &str,
        members: &str,
        events: Events,
    ) -> Result<(u64, Answer), Error> {
        let reference = self.references.fetch_add(1, Ordering::Relaxed);
        let answered = match self.ask(reference, op, members, Some(events)).await {
            Ok(answer) => answer.await.unwrap_or_else(|_| Err(self.ended())),
            Err(error) => Err(error),
        };
        if answered.is_err() {
            self.lock().readers.remove(&reference);
        }
        Ok((reference, answered?))
    }

    /// Tells the exchange, if there is room; the reader is forgotten at once either way.
    pub(super) fn unsubscribe(&self, reference: u64) {
        if self.lock().readers.remove(&reference).is_some() {
            let frame = format!("{{\"op\":\"unsubscribe\",\"ref\":\"{reference}\"}}");
            // A full queue means the connection is busy; deliveries for a forgotten reader are
            // dropped when they come, and leases run out.
            drop(self.out.try_send(frame));
        }
    }

    async fn ask(
        &self,
        reference: u64,
        op: &str,
        members: &str,
        events: Option<Events>,
    ) -> Result<oneshot::Receiver<Result<Answer, Error>>, Error> {
        let (caller, answer) = oneshot::channel();
        {
            let mut waiting = self.lock();
            if let Some(ended) = &waiting.ended {
                return Err(self.error(ended));
            }
            waiting.callers.insert(reference, caller);
            if let Some(events) = events {
                waiting.readers.insert(reference, events);
            }
        }
        let frame = format!("{{\"op\":\"{op}\",\"ref\":\"{reference}\"{members}}}");
        if self.out.send(frame).await.is_err() {
            self.lock().callers.remove(&reference);
            return Err(self.ended());
        }
        Ok(answer)
    }

    fn ended(&self) -> Error {
        match &self.lock().ended {
            Some(ended) => self.error(ended),
            None => Error::Closed,
        }
    }

    fn error(&self, ended: &Ended) -> Error {
        match ended {
            Ended::Closed => Error::Closed,
            Ended::Refused(problem) => Error::Refused(problem.clone()),
            Ended::Broken(reason) => Error::Unreachable {
                url: self.url.clone(),
                reason: reason.clone(),
            },
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Writes what is queued; flushes when the queue is empty, so that a burst is one packet.
async fn write(mut sink: SplitSink<Stream, Message>, mut queue: mpsc::Receiver<String>) {
    while let Some(frame) = queue.recv().await {
        if sink.feed(Message::Text(frame.into())).await.is_err() {
            return;
        }
        while let Ok(frame) = queue.try_recv() {
            if sink.feed(Message::Text(frame.into())).await.is_err() {
                return;
            }
        }
        if sink.flush().await.is_err() {
            return;
        }
    }
    // The other side may be gone already.
    drop(sink.close().await);
}

async fn read(mut frames: SplitStream<Stream>, waiting: Arc<Mutex<Waiting>>) {
    let mut ended = Ended::Closed;
    while let Some(message) = frames.next().await {
        match message {
            Ok(Message::Text(text)) => {
                // A fault without reference means that some frame was unreadable: whose answer is
                // missing cannot be known, so nobody may wait any longer.
                if let Some(problem) = hand_out(&text, &waiting).await {
                    ended = Ended::Refused(problem);
                    break;
                }
            }
            Ok(Message::Close(_)) => break,
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_)) => {}
            Err(error) => {
                if matches!(ended, Ended::Closed) {
                    ended = Ended::Broken(error.to_string());
                }
                break;
            }
        }
    }
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.ended = Some(ended);
    waiting.callers.clear();
    waiting.readers.clear();
}

/// Gives one frame to whom it concerns; a fault that concerns nobody is returned.
async fn hand_out(text: &str, waiting: &Mutex<Waiting>) -> Option<Box<Problem>> {
    let Ok(frame) = serde_json::from_str::<Incoming<'_>>(text) else {
        return None;
    };
    let reference = frame
        .reference
        .as_deref()
        .and_then(|text| text.parse::<u64>().ok());
    let answer = match &*frame.op {
        "receipt" => Ok(Answer::Receipt(frame.receipt?.get().to_owned())),
        "subscribed" => Ok(Answer::Subscribed {
            cursor: frame.cursor.unwrap_or_default().into_owned(),
            consumer: frame.consumer.unwrap_or_default().into_owned(),
        }),
        "settled" => Ok(Answer::Settled(text.to_owned())),
        "pong" => Ok(Answer::Pong),
        "fault" => {
            let fault = frame.fault.map_or(text, |fault| fault.get());
            Err(Box::new(Problem::read(0, fault.as_bytes())))
        }
        "deliver" => {
            let delivery = SocketDelivery {
                cursor: frame.cursor.unwrap_or_default().into_owned(),
                envelope: Bytes::copy_from_slice(frame.envelope?.get().as_bytes()),
                delivery: frame.delivery.map(std::borrow::Cow::into_owned),
                attempt: frame.attempt,
                redelivered: frame.redelivered,
                lease_until: frame.lease_until.unwrap_or_default().into_owned(),
                id: frame.id.unwrap_or_default().into_owned(),
            };
            tell(waiting, reference, SocketEvent::Deliver(delivery)).await;
            return None;
        }
        "caught_up" => {
            tell(waiting, reference, SocketEvent::CaughtUp).await;
            return None;
        }
        "ended" => {
            tell(waiting, reference, SocketEvent::Ended(text.to_owned())).await;
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            reference.and_then(|reference| waiting.readers.remove(&reference));
            return None;
        }
        "gap" => {
            tell(waiting, reference, SocketEvent::Gap(Gap::read(text))).await;
            return None;
        }
        "draining" => {
            tell(waiting, reference, SocketEvent::Draining(parting(&frame))).await;
            return None;
        }
        "slow_consumer" => {
            tell(
                waiting,
                reference,
                SocketEvent::SlowConsumer(parting(&frame)),
            )
            .await;
            return None;
        }
        // A later exchange may say more than this client knows.
        _ => return None,
    };
    let (caller, reader) = {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let caller = reference.and_then(|reference| waiting.callers.remove(&reference));
        let reader = reference.and_then(|reference| waiting.readers.get(&reference).cloned());
        (caller, reader)
    };
    match (caller, answer) {
        (Some(caller), Ok(answer)) => drop(caller.send(Ok(answer))),
        (Some(caller), Err(problem)) => drop(caller.send(Err(Error::Refused(problem)))),
        (None, Ok(Answer::Receipt(text))) => {
            if let (Some(reader), Ok(receipt)) = (reader, MessageReceipt::read(&text)) {
                let event = SocketEvent::Receipt(Box::new(receipt));
                drop(reader.send(Ok(event)).await);
            }
        }
        (None, Ok(_)) => {}
        (None, Err(problem)) => match reader {
            Some(reader) => drop(reader.send(Err(Error::Refused(problem))).await),
            None => return Some(problem),
        },
    }
    None
}

fn parting(frame: &Incoming<'_>) -> Parting {
    Parting {
        cursor: frame.cursor.as_deref().unwrap_or_default().to_owned(),
        retry_ms: frame.retry_ms,
    }
}

/// To one reader, or to all when the frame names none.
async fn tell(waiting: &Mutex<Waiting>, reference: Option<u64>, event: SocketEvent) {
    let readers: Vec<Events> = {
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match reference {
            Some(reference) => waiting
                .readers
                .get(&reference)
                .cloned()
                .into_iter()
                .collect(),
            None => waiting.readers.values().cloned().collect(),
        }
    };
    for reader in readers {
        drop(reader.send(Ok(event.clone())).await);
    }
}
