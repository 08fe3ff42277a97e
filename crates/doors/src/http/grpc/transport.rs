//! `harmovela.v1.HarmovelaTransport` and its older name `aep.v1.AepTransport`: one call is one AEP session,
//! each message one event (AEP 9.4).

use super::generated::{aep_v1, harmovela_v1};
use super::problem::status;
use crate::http::door::Door;
use crate::http::harmovela::broken;
use crate::http::meter::{Meter, Open};
use crate::http::peer::Peer;
use crate::http::socket::patiently;
use crate::session::{self, Broken, Frames, Goodbye, Heard};
use aep_v1::AepMessage;
use aep_v1::aep_transport_server::AepTransport;
use broker::{Cursor, Feed};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use harmovela_v1::HarmovelaMessage;
use harmovela_v1::harmovela_transport_server::HarmovelaTransport;
use protocol::{Code as FaultCode, Fault};
use std::any::Any;
use std::sync::Arc;
use tokio::sync::mpsc;
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Response, Status, Streaming};

/// Events on their way to the connection. What does not fit waits in the session, where a peer that does
/// not take its data is noticed.
const ROOM: usize = 16;

/// The versions that `harmovela-version` may ask for, with the older envelope's.
const VERSIONS: [&str; 2] = ["0.2", "0.1"];

const CURSOR: &str = "x-harmovela-cursor";

/// Both services.
pub(super) struct Transport {
    door: Arc<Door>,
}

/// One event as a message of either service.
trait Event: Send + 'static {
    fn new(json_payload: String) -> Self;
    fn json_payload(self) -> String;
}

impl Event for HarmovelaMessage {
    fn new(json_payload: String) -> Self {
        Self { json_payload }
    }

    fn json_payload(self) -> String {
        self.json_payload
    }
}

impl Event for AepMessage {
    fn new(json_payload: String) -> Self {
        Self { json_payload }
    }

    fn json_payload(self) -> String {
        self.json_payload
    }
}

type Told<M> = BoxStream<'static, Result<M, Status>>;

impl Transport {
    pub(super) fn new(door: Arc<Door>) -> Self {
        Self { door }
    }

    fn open<M: Event>(&self, request: Request<Streaming<M>>) -> Result<Response<Told<M>>, Status> {
        let refuse = |refused| status(&self.door.advise(refused));
        self.door.refuse_late().map_err(refuse)?;
        version(request.metadata()).map_err(|fault| refuse(fault.into()))?;
        let peer = match request.extensions().get::<Arc<Peer>>() {
            Some(peer) => Arc::clone(peer),
            None => Arc::new(Peer::new(&self.door.handle, &self.door.settings, None)),
        };
        let (out, told) = mpsc::channel(ROOM);
        let frames = GrpcFrames {
            events: request.into_inner(),
            out,
            peer: Arc::clone(&peer),
            meter: self.door.meter.clone(),
            reached: None,
        };
        let (host, handle) = (self.door.sessions.clone(), peer.handle.clone());
        let open = Open::count(&self.door.meter.streams);
        tokio::spawn(async move {
            let _open = open;
            session::run(host, handle, &[], frames).await;
        });
        let told = stream::unfold(told, |mut told| async move {
            told.recv().await.map(|one| (one, told))
        });
        Ok(Response::new(told.boxed()))
    }
}

/// The session is opened by its event, so `harmovela-session-id` and `harmovela-agent-id` decide nothing.
fn version(metadata: &MetadataMap) -> Result<(), Fault> {
    let Some(asked) = metadata.get("harmovela-version") else {
        return Ok(());
    };
    if asked.to_str().is_ok_and(|text| VERSIONS.contains(&text)) {
        return Ok(());
    }
    let detail = format!("expected the metadata `harmovela-version` to be one of {VERSIONS:?}");
    Err(Fault::new(
        FaultCode::UnsupportedVersion,
        "",
        "AEP 9.4",
        detail,
    ))
}

#[tonic::async_trait]
impl HarmovelaTransport for Transport {
    type StreamStream = Told<HarmovelaMessage>;

    async fn stream(
        &self,
        request: Request<Streaming<HarmovelaMessage>>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        self.open(request)
    }
}

#[tonic::async_trait]
impl AepTransport for Transport {
    type StreamStream = Told<AepMessage>;

    async fn stream(
        &self,
        request: Request<Streaming<AepMessage>>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        self.open(request)
    }
}

/// The messages of one call as frames of a session.
struct GrpcFrames<M> {
    events: Streaming<M>,
    out: mpsc::Sender<Result<M, Status>>,
    peer: Arc<Peer>,
    meter: Meter,
    /// How far the peer was sent.
    reached: Option<Cursor>,
}

impl<M: Event> Frames for GrpcFrames<M> {
    // HTTP/2 asks for signs of life below this (`http.keep_alive_ms`).
    const HAS_PINGS: bool = false;

    async fn next(&mut self) -> Heard {
        heard(&mut self.events).await
    }

    async fn send(&mut self, text: Bytes) -> Result<(), Broken> {
        let Ok(text) = String::from_utf8(text.into()) else {
            // Envelopes are checked on the way in, so this would be a damaged journal.
            tracing::error!("an event is not UTF-8 and was left out");
            return Ok(());
        };
        self.put(Ok(M::new(text))).await
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        // All room is free again when the connection took everything.
        let taken = async { self.out.reserve_many(ROOM).await.map(drop) };
        let taken = patiently(&self.peer, taken).await;
        taken.map_err(|why| broken(why, &self.peer, &self.meter))
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        Ok(())
    }

    async fn close(mut self, goodbye: Goodbye) {
        let (code, message) = match goodbye {
            Goodbye::Done => (Code::Ok, ""),
            Goodbye::Away => (Code::Unavailable, "going_away"),
            Goodbye::Silent => (Code::DeadlineExceeded, "session_timeout"),
            Goodbye::Slow => (Code::ResourceExhausted, "slow_consumer"),
            Goodbye::Protocol => (Code::InvalidArgument, "protocol_error"),
            Goodbye::TooLarge => (Code::InvalidArgument, "too_large"),
            Goodbye::NotText => (Code::InvalidArgument, "not_utf8"),
        };
        let mut last = Status::new(code, message);
        if let Some(cursor) = self.reached
            && let Ok(text) = cursor.to_string().parse()
        {
            last.metadata_mut().insert(CURSOR, text);
        }
        // Nobody may be there any more.
        let _ = self.put(Err(last)).await;
    }

    fn reached(&mut self, cursor: Cursor) {
        self.reached = Some(cursor);
    }

    fn owe(&self, feed: Feed) -> Option<Box<dyn Any + Send>> {
        Some(Box::new(self.peer.owe(move || feed.bytes())))
    }
}

impl<M: Event> GrpcFrames<M> {
    async fn put(&mut self, one: Result<M, Status>) -> Result<(), Broken> {
        let put = patiently(&self.peer, self.out.send(one)).await;
        put.map_err(|why| broken(why, &self.peer, &self.meter))
    }
}

async fn heard<M: Event>(events: &mut (impl Stream<Item = Result<M, Status>> + Unpin)) -> Heard {
    match events.next().await {
        None => Heard::Closed,
        Some(Ok(event)) => Heard::Text(event.json_payload().into()),
        Some(Err(status)) => match status.code() {
            // So the library says that a message is over the limit, and that it is no message.
            Code::OutOfRange | Code::ResourceExhausted => Heard::Unreadable(Goodbye::TooLarge),
            Code::Internal | Code::InvalidArgument => Heard::Unreadable(Goodbye::Protocol),
            _ => Heard::Gone,
        },
    }
}
