//! Clients that do nothing by themselves: what is not read here stays in the connection, and every
//! frame is seen as it came.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

/// A net under every wait, so that a broken build fails and does not hang.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("an answer in time")
}

fn host(url: &str) -> &str {
    url.trim_start_matches("http://")
}

/// A connection; its kernel buffers little of what is not read.
pub async fn connect(url: &str) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(16 << 10)?;
    let address = host(url).parse().expect("an address");
    within(socket.connect(address)).await
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("JSON, got {}", self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Checks that this refuses with `code`, and gives the problem document.
    pub fn refuses(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        problem
    }
}

/// One request on a connection of its own.
pub async fn ask(url: &str, request: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    try_ask(url, request, headers, body)
        .await
        .expect("an answer")
}

/// As [`ask`]; an error when there is nobody to answer.
pub async fn try_ask(
    url: &str,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> std::io::Result<Answer> {
    let mut body_of = Body::begin(url, request, headers, body).await?;
    let mut whole = Vec::new();
    while let Some(piece) = body_of.piece().await {
        whole.extend(piece);
    }
    Ok(Answer {
        status: body_of.status,
        head: body_of.head,
        body: whole,
    })
}

/// GET.
pub async fn get(url: &str, path: &str) -> Answer {
    ask(url, &format!("GET {path}"), &[], "").await
}

/// Publishes one envelope.
pub async fn publish(url: &str, envelope: &str) -> Answer {
    let media = ("content-type", "application/json");
    ask(url, "POST /v1/messages", &[media], envelope).await
}

/// The body of an answer, read piece by piece.
#[derive(Debug)]
struct Body {
    stream: TcpStream,
    unread: Vec<u8>,
    status: u16,
    head: String,
    has_ended: bool,
}

impl Body {
    async fn begin(
        url: &str,
        request: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<Self> {
        let mut stream = connect(url).await?;
        let mut text = format!("{request} HTTP/1.1\r\nhost: {}\r\n", host(url));
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        within(stream.write_all(text.as_bytes())).await?;
        let mut unread = Vec::new();
        let end = loop {
            if let Some(at) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if within(stream.read_buf(&mut unread)).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        };
        let head = String::from_utf8(unread.drain(..end).collect()).expect("UTF-8");
        let status = head.split(' ').nth(1).expect("a status");
        Ok(Self {
            stream,
            unread,
            status: status.parse().expect("a number"),
            head,
            has_ended: false,
        })
    }

    /// The next piece; `None` at the end, also when the connection was cut.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let is_chunked = self.head.contains("transfer-encoding: chunked");
        loop {
            let (length, start) = if is_chunked {
                match self.unread.windows(2).position(|two| two == b"\r\n") {
                    Some(at) => {
                        let digits = std::str::from_utf8(&self.unread[..at]).expect("digits");
                        let length = usize::from_str_radix(digits, 16).expect("a length");
                        (length, at + 2)
                    }
                    None => (usize::MAX, 0),
                }
            } else {
                let length = self.head.lines().find_map(|line| {
                    let value = line.strip_prefix("content-length: ")?;
                    value.parse().ok()
                });
                self.has_ended = self.unread.len() >= length.unwrap_or(0);
                (length.unwrap_or(0), 0)
            };
            let ending = if is_chunked { 2 } else { 0 };
            if length != usize::MAX && self.unread.len() >= start + length + ending {
                let piece = self.unread[start..start + length].to_vec();
                self.unread.drain(..start + length + ending);
                self.has_ended |= length == 0;
                return (length > 0).then_some(piece);
            }
            let read = within(self.stream.read_buf(&mut self.unread)).await;
            if !read.is_ok_and(|count| count > 0) {
                self.has_ended = true;
                return None;
            }
        }
    }
}

/// A stream of server-sent events.
#[derive(Debug)]
pub struct Events {
    body: Body,
    text: String,
    /// Bytes of a character that is not whole yet.
    rest: Vec<u8>,
}

/// One block of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub comment: Option<String>,
    pub id: Option<String>,
    pub retry: Option<String>,
    pub event: Option<String>,
    pub data: Option<String>,
}

impl Block {
    /// The data as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(self.data.as_deref().expect("data")).expect("JSON")
    }
}

impl Events {
    /// Opens `path`; the answer, if it is a refusal.
    pub async fn open(url: &str, path: &str, headers: &[(&str, &str)]) -> Result<Self, Answer> {
        let request = format!("GET {path}");
        let mut body = Body::begin(url, &request, headers, "")
            .await
            .expect("an answer");
        if body.status == 200 {
            assert!(body.head.contains("content-type: text/event-stream"));
            return Ok(Self {
                body,
                text: String::new(),
                rest: Vec::new(),
            });
        }
        let whole = body.piece().await.unwrap_or_default();
        Err(Answer {
            status: body.status,
            head: body.head,
            body: whole,
        })
    }

    /// The next block; `None` at the end, also when the connection was cut in the middle of one.
    pub async fn block(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = parse(block);
                self.text = rest.to_owned();
                return Some(block);
            }
            self.rest.extend(self.body.piece().await?);
            let whole = match std::str::from_utf8(&self.rest) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            let rest = self.rest.split_off(whole);
            self.text
                .push_str(std::str::from_utf8(&self.rest).expect("checked"));
            self.rest = rest;
        }
    }

    /// The next block with data.
    pub async fn event(&mut self) -> Block {
        loop {
            let block = self.block().await.expect("an event");
            if block.data.is_some() {
                return block;
            }
        }
    }

    /// The next block, which must be a control event of that name.
    pub async fn control(&mut self, name: &str) -> Block {
        let block = self.event().await;
        assert_eq!(block.event.as_deref(), Some(name), "{block:?}");
        block
    }
}

fn parse(text: &str) -> Block {
    let mut block = Block::default();
    for line in text.split('\n') {
        let (field, value) = line.split_once(':').expect("a field");
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            "" => block.comment = Some(value),
            "id" => block.id = Some(value),
            "retry" => block.retry = Some(value),
            "event" => block.event = Some(value),
            "data" => match &mut block.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
                None => block.data = Some(value),
            },
            other => panic!("unknown field {other}"),
        }
    }
    block
}

/// A WebSocket.
#[derive(Debug)]
pub struct Socket {
    inner: WebSocketStream<TcpStream>,
}

impl Socket {
    pub async fn open(url: &str) -> Self {
        let address = format!("ws://{}/v1/socket", host(url));
        let mut request = address.into_client_request().expect("a request");
        let protocol = "interwire.v1".parse().expect("a header");
        request
            .headers_mut()
            .insert("sec-websocket-protocol", protocol);
        let stream = connect(url).await.expect("a connection");
        let (inner, _) = within(tokio_tungstenite::client_async(request, stream))
            .await
            .expect("a socket");
        Self { inner }
    }

    pub async fn send(&mut self, frame: impl Into<String>) {
        within(self.inner.send(Message::text(frame.into())))
            .await
            .expect("sent");
    }

    /// The next message, whatever it is; `None` at the end, also when the connection was cut.
    pub async fn message(&mut self) -> Option<Message> {
        within(self.inner.next()).await?.ok()
    }

    /// The next text frame; `None` at the end.
    pub async fn try_text(&mut self) -> Option<String> {
        loop {
            match self.message().await? {
                Message::Text(text) => return Some(text.to_string()),
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Close(_) | Message::Binary(_) | Message::Frame(_) => return None,
            }
        }
    }

    pub async fn try_frame(&mut self) -> Option<Value> {
        let text = self.try_text().await?;
        Some(serde_json::from_str(&text).expect("JSON"))
    }

    pub async fn frame(&mut self) -> Value {
        self.try_frame().await.expect("a frame")
    }

    /// Sends a frame and gives the next one that comes.
    pub async fn ask(&mut self, frame: impl Into<String>) -> Value {
        self.send(frame).await;
        self.frame().await
    }

    /// The next frame, which must be this operation.
    pub async fn op(&mut self, expected: &str) -> Value {
        let frame = self.frame().await;
        assert_eq!(frame["op"], expected, "{frame}");
        frame
    }
}
