//! A running exchange behind a real listener, and small clients for it.

use broker::{Broker, Handle, Settings, Storage};
use futures_util::{SinkExt as _, StreamExt as _};
use interwire_doors::http::{HttpSettings, Stop, serve};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// A net under every wait, so that a broken build fails and does not hang.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("an answer in time")
}

/// The library wants to be told who does its cryptography, also where there is none.
pub fn http_client() -> reqwest::ClientBuilder {
    // An error says that it was told before.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
}

pub struct World {
    pub address: SocketAddr,
    pub handle: Handle,
    pub stop: Stop,
    pub client: reqwest::Client,
    server: JoinHandle<()>,
    broker: Broker,
}

impl World {
    pub async fn start() -> Self {
        Self::with(Settings::default(), HttpSettings::default()).await
    }

    pub async fn in_folder(folder: &std::path::Path) -> Self {
        let settings = Settings {
            storage: Storage::Folder(folder.into()),
            ..Settings::default()
        };
        Self::with(settings, HttpSettings::default()).await
    }

    pub async fn with(settings: Settings, http: HttpSettings) -> Self {
        Self::of(Broker::open(settings, 7).expect("an exchange"), http).await
    }

    pub async fn of(broker: Broker, http: HttpSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (handle, stop) = (broker.handle(), Stop::new());
        let server = tokio::spawn(serve(listener, handle.clone(), http, stop.clone()));
        let client = http_client().build().unwrap();
        Self {
            address,
            handle,
            stop,
            client,
            server,
            broker,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits for the server's end.
    pub async fn ended(self) {
        within(self.server).await.expect("a clean end");
        within(self.broker.close()).await;
    }

    /// Drains and waits for the end.
    pub async fn stop(self) {
        self.stop.ask();
        self.ended().await;
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(
            within(self.client.get(self.url(path)).send())
                .await
                .expect("an answer"),
        )
        .await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        Answer::of(
            within(self.client.delete(self.url(path)).send())
                .await
                .expect("an answer"),
        )
        .await
    }

    pub async fn put(&self, path: &str, body: &str) -> Answer {
        let request = self.client.put(self.url(path)).body(body.to_owned());
        Answer::of(within(request.send()).await.expect("an answer")).await
    }

    pub async fn post(&self, path: &str, media: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.client.post(self.url(path)).body(body.into());
        let request = if media.is_empty() {
            request
        } else {
            request.header("content-type", media)
        };
        Answer::of(within(request.send()).await.expect("an answer")).await
    }

    /// Publishes one envelope and gives its receipt.
    pub async fn publish(&self, envelope: &str) -> Value {
        let answer = self
            .post("/v1/messages", "application/json", envelope)
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }

    /// Publishes `count` envelopes `m-1`, `m-2`, ... and gives their cursors.
    pub async fn publish_many(&self, count: usize) -> Vec<String> {
        let mut cursors = Vec::new();
        for number in 1..=count {
            let receipt = self
                .publish(&aee(&format!("m-{number}"), "agent.b", "{}"))
                .await;
            cursors.push(receipt["cursor"].as_str().expect("a cursor").to_owned());
        }
        cursors
    }

    /// What became of a message.
    pub async fn receipt(&self, id: &str) -> Value {
        let answer = self.get(&format!("/v1/messages/{id}/receipt")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// What became of a message in the end; waits for it.
    pub async fn final_receipt(&self, id: &str) -> Value {
        let mut last = Value::Null;
        let mut events = self.watch(id).await;
        while let Some(event) = events.next().await {
            if event.name.as_deref() == Some("receipt") {
                last = serde_json::from_str(&event.data.expect("data")).expect("JSON");
            }
        }
        assert_eq!(last["final"], true, "{last}");
        last
    }

    /// The receipt of a message, as it changes.
    pub async fn watch(&self, id: &str) -> Events {
        let path = format!("/v1/messages/{id}/receipt");
        self.stream(&path, &[("accept", "text/event-stream")]).await
    }

    pub async fn stream(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let mut request = self.client.get(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Events::of(within(request.send()).await.expect("an answer"))
    }

    pub async fn socket(&self) -> Socket {
        self.socket_as(Some("interwire.v1"))
            .await
            .expect("a socket")
            .0
    }

    pub async fn socket_as(
        &self,
        protocol: Option<&str>,
    ) -> Result<(Socket, Option<String>), tokio_tungstenite::tungstenite::Error> {
        let url = format!("ws://{}/v1/socket", self.address);
        let mut request = url.into_client_request().expect("a request");
        if let Some(protocol) = protocol {
            let value = protocol.parse().expect("a header");
            request
                .headers_mut()
                .insert("sec-websocket-protocol", value);
        }
        let (inner, response) = within(connect_async(request)).await?;
        let chosen = response.headers().get("sec-websocket-protocol");
        let chosen = chosen.map(|value| value.to_str().expect("text").to_owned());
        Ok((Socket { inner }, chosen))
    }
}

/// A whole answer.
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = within(response.bytes()).await.expect("a body").to_vec();
        Self {
            status,
            headers,
            body,
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("JSON, got {}", self.text()))
    }

    pub fn lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// Checks that this is a problem document of `code`, whole and true to its status.
    pub fn refuses(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["type"], format!("urn:interwire:fault:{code}"));
        assert_eq!(problem["status"], status);
        assert_eq!(problem["instance"], self.header("interwire-request-id"));
        for member in ["title", "detail", "pointer", "rule"] {
            assert!(problem[member].is_string(), "{member} in {problem}");
        }
        assert!(problem["retryable"].is_boolean());
        assert_eq!(problem["errors"][0]["code"], code);
        assert_eq!(
            self.headers.contains_key("retry-after"),
            problem["retryable"] == true
        );
        problem
    }
}

type Bytes = Result<bytes::Bytes, reqwest::Error>;

/// A stream of server-sent events.
pub struct Events {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = Bytes> + Send>>,
    text: String,
}

/// One block of an event stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub comment: Option<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub data: Option<String>,
}

impl Events {
    pub fn of(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            body: Box::pin(response.bytes_stream()),
            text: String::new(),
        }
    }

    /// The next block; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = parse(block);
                self.text = rest.to_owned();
                return Some(event);
            }
            let chunk = within(self.body.next()).await?.ok()?;
            self.text
                .push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
    }

    /// The next block that is a message or a control event.
    pub async fn event(&mut self) -> Event {
        loop {
            let event = self.next().await.expect("an event");
            if event.data.is_some() {
                return event;
            }
        }
    }
}

fn parse(block: &str) -> Event {
    let mut event = Event::default();
    for line in block.split('\n') {
        let (field, value) = line.split_once(':').expect("a field");
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => event.comment = Some(value.to_owned()),
            "id" => event.id = Some(value.to_owned()),
            "event" => event.name = Some(value.to_owned()),
            "retry" => {}
            "data" => match &mut event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => event.data = Some(value.to_owned()),
            },
            other => panic!("unknown field {other}"),
        }
    }
    event
}

/// A WebSocket client.
pub struct Socket {
    inner: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Socket {
    pub async fn send(&mut self, frame: impl Into<String>) {
        within(self.inner.send(Message::text(frame.into())))
            .await
            .expect("sent");
    }

    pub async fn send_message(&mut self, message: Message) {
        within(self.inner.send(message)).await.expect("sent");
    }

    pub async fn text(&mut self) -> String {
        loop {
            match within(self.inner.next())
                .await
                .expect("a frame")
                .expect("a frame")
            {
                Message::Text(text) => return text.to_string(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected text, got {other:?}"),
            }
        }
    }

    pub async fn frame(&mut self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("JSON, got {text}"))
    }

    /// Sends a frame and gives the next answer.
    pub async fn ask(&mut self, frame: impl Into<String>) -> Value {
        self.send(frame).await;
        self.frame().await
    }

    /// Says goodbye and waits for the answer.
    pub async fn close(mut self) {
        within(self.inner.close(None)).await.expect("sent");
        while let Some(Ok(_)) = within(self.inner.next()).await {}
    }

    /// Waits for the close frame; `None` when the connection just ended.
    pub async fn closed(&mut self) -> Option<CloseFrame> {
        loop {
            match within(self.inner.next()).await {
                Some(Ok(Message::Close(frame))) => return frame,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }
}

/// The next frame, which must be of that operation.
pub async fn op(socket: &mut Socket, expected: &str) -> Value {
    let frame = socket.frame().await;
    assert_eq!(frame["op"], expected, "{frame}");
    frame
}

/// An AEE task from `human.adam` in a conversation.
pub fn aee_in(conversation: &str, id: &str, to: &str) -> String {
    aee(id, to, "{}").replace(&format!("CONV_{id}"), conversation)
}

/// An AEE task from `human.adam` with a payload as written.
pub fn aee(id: &str, to: &str, payload: &str) -> String {
    aee_from("human.adam", id, to, payload)
}

pub fn aee_from(from: &str, id: &str, to: &str, payload: &str) -> String {
    format!(
        "{{\"v\":\"1\",\"id\":\"{id}\",\"ts\":\"2026-02-28T10:30:00Z\",\"type\":\"task\",\
         \"from\":\"{from}\",\"to\":\"{to}\",\"intent\":\"quox.security.scan\",\"corr\":\"CONV_{id}\",\
         \"reply_to\":null,\"trace\":null,\"priority\":\"high\",\"requires\":null,\
         \"payload\":{payload},\"sig\":null}}"
    )
}
