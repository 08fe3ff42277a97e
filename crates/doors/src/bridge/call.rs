//! One call of a tool, from its request to its end.

use super::desk::Desk;
use super::events::{End, Once, Request, error};
use broker::{Delivery, Settle};
use parking_lot::Mutex;
use protocol::{Code, Rejection};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam,
    Request as Rpc, ServerResult, Tool,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Progress of one call is published no faster than this; what comes between is replaced.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);

/// The lease of a request is renewed this often.
const RENEW_EVERY: Duration = Duration::from_secs(8);

/// Longest time a request can give a call, in milliseconds: a week.
const TIMEOUT_MS_MAX: u64 = 604_800_000;

/// A call that is held, and how to call it off.
#[derive(Debug)]
pub(super) struct Running {
    pub request: Request,
    delivery: Mutex<Delivery>,
    cancelled: CancellationToken,
    reason: Mutex<Option<String>>,
}

impl Running {
    pub(super) fn new(request: Request, delivery: Delivery) -> Self {
        Self {
            request,
            delivery: Mutex::new(delivery),
            cancelled: CancellationToken::new(),
            reason: Mutex::default(),
        }
    }

    pub(super) fn delivery(&self) -> Delivery {
        self.delivery.lock().clone()
    }

    /// The newest lease is the one that settles.
    pub(super) fn renew(&self, delivery: Delivery) {
        *self.delivery.lock() = delivery;
    }

    pub(super) fn cancel(&self, reason: String) {
        self.reason.lock().get_or_insert(reason);
        self.cancelled.cancel();
    }
}

/// Why a call stops without an end: it is told of by a later life.
#[derive(Debug)]
struct GivenUp(Rejection);

impl From<Rejection> for GivenUp {
    fn from(rejection: Rejection) -> Self {
        Self(rejection)
    }
}

/// What the request asks for.
struct Wanted {
    tool: Tool,
    arguments: Map<String, Value>,
    timeout_ms: u64,
}

/// One call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    desk: &'a Desk,
    running: &'a Running,
}

impl<'a> Call<'a> {
    pub(super) fn new(desk: &'a Arc<Desk>, running: &'a Arc<Running>) -> Self {
        Self { desk, running }
    }

    /// Runs it to its end, and acknowledges the request after that.
    pub(super) async fn run(&self) {
        let renewing = self.keep_lease();
        let ended = tokio::select! {
            ended = self.to_the_end() => ended,
            () = renewing => return,
        };
        match ended {
            Ok(()) => {
                let delivery = self.running.delivery();
                self.desk.settle(&delivery, Settle::Ack).await;
            }
            Err(GivenUp(error)) => {
                let name = &self.desk.server.name;
                tracing::warn!(name, %error, "a call could not be told of; it is told of later");
            }
        }
    }

    /// Never ends: the request stays ours while the call runs.
    async fn keep_lease(&self) {
        loop {
            tokio::time::sleep(RENEW_EVERY).await;
            let delivery = self.running.delivery();
            let extend = Settle::Extend { lease_ms: None };
            self.desk.settle(&delivery, extend).await;
        }
    }

    async fn to_the_end(&self) -> Result<(), GivenUp> {
        if self.was_told(Once::End).await? {
            return Ok(());
        }
        let wanted = match self.wanted() {
            Ok(wanted) => wanted,
            Err(error) => return self.end(End::Rejected(error)).await,
        };
        let has_begun = self.was_told(Once::Accepted).await?;
        if has_begun && !is_repeatable(&wanted.tool) {
            let message = "the call was interrupted, and it is not known whether it had its effect; \
                           ask again if that does no harm";
            return self
                .end(End::Failed(error("internal_error", message, true)))
                .await;
        }
        if !has_begun {
            let payload = json!({
                "call_id": self.running.request.header.id,
                "protocol": "mcp",
                "server": self.desk.server.name,
                "tool": wanted.tool.name,
                "timeout_ms": wanted.timeout_ms,
            });
            self.once(Once::Accepted, "tool.call.accepted", &payload)
                .await?;
        }
        let turn = tokio::select! {
            turn = self.desk.turns.acquire() => turn,
            () = self.running.cancelled.cancelled() => return self.end(self.called_off()).await,
        };
        let Ok(_turn) = turn else {
            return Ok(());
        };
        self.tell("tool.call.started", &json!({})).await?;
        let end = self.execute(wanted).await?;
        self.end(end).await
    }

    /// Reads the request.
    fn wanted(&self) -> Result<Wanted, Value> {
        let wrong = |message: String| error("protocol_error", message, false);
        let delivery = self.running.delivery();
        let doc: Value = serde_json::from_slice(&delivery.entry.envelope)
            .map_err(|problem| wrong(format!("the request cannot be read: {problem}")))?;
        let member = |name: &str| doc.get("payload").and_then(|payload| payload.get(name));
        let server = &self.desk.server;
        if let Some(named) = member("server").and_then(Value::as_str)
            && named != server.name
        {
            return Err(wrong(format!(
                "expected `server` to be {:?}, got {named:?}",
                server.name
            )));
        }
        let Some(name) = member("tool").and_then(Value::as_str) else {
            return Err(wrong("expected `tool` to name a tool".into()));
        };
        let tools = self.desk.tools.lock().clone();
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            let known: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
            let message = format!(
                "expected one of the tools {}, got {name:?}",
                known.join(", ")
            );
            return Err(error("tool_error", message, false));
        };
        let arguments = match member("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err(wrong("expected `arguments` to be an object".into())),
        };
        let timeout_ms = member("timeout_ms")
            .and_then(Value::as_u64)
            .unwrap_or(server.timeout_ms)
            .clamp(1, TIMEOUT_MS_MAX);
        Ok(Wanted {
            tool: tool.clone(),
            arguments,
            timeout_ms,
        })
    }

    async fn execute(&self, wanted: Wanted) -> Result<End, GivenUp> {
        let Wanted {
            tool,
            arguments,
            timeout_ms,
        } = wanted;
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(Rpc::new(params));
        let sent = self
            .desk
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await;
        let mut pending = match sent {
            Ok(pending) => pending,
            Err(problem) => return Ok(self.lost(&problem)),
        };
        let until = Instant::now() + Duration::from_millis(timeout_ms);
        let answer = self.wait(&mut pending, until).await?;
        let reports = self.desk.reports.lock().clone();
        reports.forget(&pending.progress_token);
        match answer {
            Waited::Answer(answer) => self.result(answer).await,
            Waited::Cancelled => {
                let end = self.called_off();
                if let End::Cancelled { reason } = &end {
                    // A server that has gone needs no word.
                    let _ = pending.cancel(Some(reason.clone())).await;
                }
                Ok(end)
            }
            Waited::TimedOut => {
                let _ = pending.cancel(Some("the time is over".into())).await;
                Ok(End::TimedOut { timeout_ms })
            }
        }
    }

    /// Waits for the answer and tells what is reported until then.
    async fn wait(
        &self,
        pending: &mut RequestHandle<RoleClient>,
        until: Instant,
    ) -> Result<Waited, GivenUp> {
        let reports = self.desk.reports.lock().clone();
        let mut newest = reports.of(&pending.progress_token);
        let mut may_tell = Instant::now();
        loop {
            let reported = async {
                sleep_until(may_tell).await;
                match newest.changed().await {
                    Ok(()) => newest.borrow_and_update().clone(),
                    Err(_) => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.running.cancelled.cancelled() => return Ok(Waited::Cancelled),
                answer = &mut pending.rx => {
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    return Ok(Waited::Answer(Box::new(answer)));
                }
                () = sleep_until(until) => return Ok(Waited::TimedOut),
                progress = reported => {
                    if let Some(progress) = progress {
                        self.tell("tool.call.progress", &told(&progress)).await?;
                    }
                    may_tell = Instant::now() + PROGRESS_PAUSE;
                }
            }
        }
    }

    /// The output, and then the end that goes with it.
    async fn result(
        &self,
        answer: Box<Result<ServerResult, ServiceError>>,
    ) -> Result<End, GivenUp> {
        let result = match *answer {
            Ok(ServerResult::CallToolResult(result)) => result,
            Ok(_) => {
                let message = "expected a result of the tool, got a question that needs a host";
                return Ok(End::Failed(error("tool_error", message, false)));
            }
            Err(ServiceError::McpError(problem)) => {
                let message = problem.message.to_string();
                return Ok(End::Failed(error("tool_error", message, false)));
            }
            Err(problem) => return Ok(self.lost(&problem)),
        };
        let is_error = result.is_error == Some(true);
        let output = output(&result);
        let told = self
            .tell("tool.call.output", &json!({ "output": output }))
            .await;
        match told {
            Ok(()) => {}
            // Too large, or otherwise nothing that can be said here.
            Err(GivenUp(refused)) if !refused.code().class().is_retryable() => {
                let message = format!("the output cannot be carried: {}", refused.first().detail);
                return Ok(End::Failed(error("tool_error", message, false)));
            }
            Err(given_up) => return Err(given_up),
        }
        if is_error {
            return Ok(End::Failed(error("tool_error", words(&result), false)));
        }
        Ok(End::Completed { result: output })
    }

    /// The server went in the middle: it has to be reached anew.
    fn lost(&self, problem: &ServiceError) -> End {
        self.desk.lost.notify_one();
        let message = format!("the tool's server was lost: {problem}");
        End::Failed(error("internal_error", message, true))
    }

    fn called_off(&self) -> End {
        let reason = self.running.reason.lock().clone();
        End::Cancelled {
            reason: reason.unwrap_or_default(),
        }
    }

    async fn end(&self, end: End) -> Result<(), GivenUp> {
        let (kind, mut payload) = end.event();
        if let Some(payload) = payload.as_object_mut() {
            payload.insert("call_id".into(), json!(self.running.request.header.id));
        }
        self.once(Once::End, kind, &payload).await
    }

    async fn tell(&self, kind: &str, payload: &Value) -> Result<(), GivenUp> {
        let now = self.desk.handle.now();
        let envelope = self.running.request.tell(kind, payload, now);
        self.desk.handle.accept(envelope.into()).await?;
        Ok(())
    }

    async fn once(&self, once: Once, kind: &str, payload: &Value) -> Result<(), GivenUp> {
        let now = self.desk.handle.now();
        let envelope = self.running.request.tell_once(once, kind, payload, now);
        match self.desk.handle.accept(envelope.into()).await {
            Ok(_) => Ok(()),
            // It was said already, in other words.
            Err(refused) if refused.code() == Code::IdConflict => Ok(()),
            Err(refused) => Err(refused.into()),
        }
    }

    async fn was_told(&self, once: Once) -> Result<bool, GivenUp> {
        let request = &self.running.request;
        let (id, by) = (request.id_of(once), request.party.clone());
        match self.desk.handle.find(&id, Some(by)).await {
            Ok(_) => Ok(true),
            Err(refused) if refused.code() == Code::NotFound => Ok(false),
            Err(refused) => Err(refused.into()),
        }
    }
}

/// What a wait for an answer came to.
enum Waited {
    Answer(Box<Result<ServerResult, ServiceError>>),
    Cancelled,
    TimedOut,
}

/// Whether a tool says that running it twice is as running it once.
fn is_repeatable(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|hints| {
        hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
    })
}

/// The structured result where there is one, else the content.
fn output(result: &CallToolResult) -> Value {
    match &result.structured_content {
        Some(value) => value.clone(),
        None => serde_json::to_value(&result.content).unwrap_or(Value::Null),
    }
}

/// The texts of a result, for people.
fn words(result: &CallToolResult) -> String {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|block| block.as_text().map(|text| text.text.as_str()))
        .collect();
    if texts.is_empty() {
        return "the tool says that it failed".to_owned();
    }
    texts.join("\n")
}

/// Progress as AEP writes it: from 0 to 1 where the whole is known.
fn told(progress: &ProgressNotificationParam) -> Value {
    let mut payload = Map::new();
    match progress.total {
        Some(total) if total > 0.0 => {
            let part = (progress.progress / total).clamp(0.0, 1.0);
            payload.insert("progress".into(), json!(part));
            payload.insert("current".into(), json!(progress.progress));
            payload.insert("total".into(), json!(total));
        }
        _ => {
            payload.insert("current".into(), json!(progress.progress));
        }
    }
    if let Some(message) = &progress.message {
        payload.insert("message".into(), json!(message));
    }
    payload.into()
}
