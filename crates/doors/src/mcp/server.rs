//! The server: what a host may call, read and watch, on any transport.
//!
//! Implements both ways of MCP: sessions that begin with `initialize` (until 2025-11-25) and requests
//! that stand for themselves (from 2026-07-28).
#![expect(
    deprecated,
    reason = "sessions with `initialize` subscribe and log in the ways that later versions left"
)]

use super::progress::Progress;
use super::resources::{self, Name};
use super::tools::{self, TOOLS};
use super::wake::Watched;
use super::{Exchange, Refusal};
use parking_lot::Mutex;
use protocol::Party;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Tasks in a list of resources.
const TASKS_LISTED_MAX: usize = 50;

/// Resources that one session may watch.
const WATCHED_MAX: usize = 256;

/// The tools and resources of one exchange, for one party. One for each session.
pub struct Server<E> {
    exchange: E,
    party: Party,
    /// Ends with the session.
    end: CancellationToken,
    _end_guard: DropGuard,
    /// What a session with `initialize` subscribed to.
    watched: Mutex<HashMap<String, DropGuard>>,
    /// Whether its inbox is among them: then it needs no log message.
    is_inbox_watched: Arc<AtomicBool>,
    /// Whether log messages below warnings are wanted.
    is_quiet: Arc<AtomicBool>,
}

impl<E> std::fmt::Debug for Server<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("party", &self.party)
            .finish_non_exhaustive()
    }
}

impl<E: Exchange> Server<E> {
    /// A server that acts as `party`.
    #[must_use]
    pub fn new(exchange: E, party: Party) -> Self {
        let end = CancellationToken::new();
        Self {
            exchange,
            party,
            _end_guard: end.clone().drop_guard(),
            end,
            watched: Mutex::default(),
            is_inbox_watched: Arc::default(),
            is_quiet: Arc::default(),
        }
    }

    /// Says in the log of a session that something came, unless it subscribed to its inbox.
    async fn log_arrivals(&self, peer: Peer<RoleServer>) {
        let name = Name::Inbox(self.party.as_str().to_owned());
        let mut watched = match Watched::begin(&name, &self.exchange).await {
            Ok(watched) => watched,
            Err(refusal) => {
                tracing::warn!(fault = refusal.sentence(), "arrivals cannot be watched");
                return;
            }
        };
        let uri = resources::inbox_uri(&self.party);
        let (end, is_watched) = (self.end.clone(), Arc::clone(&self.is_inbox_watched));
        let is_quiet = Arc::clone(&self.is_quiet);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = end.cancelled() => return,
                    told = watched.next() => if told.is_none() { return },
                }
                if is_watched.load(Ordering::Acquire) || is_quiet.load(Ordering::Acquire) {
                    continue;
                }
                let data = json!({
                    "message": "something came for you; read it with the tool `inbox`",
                    "resource": uri,
                });
                let log = LoggingMessageNotificationParam::new(LoggingLevel::Info, data)
                    .with_logger("interwire");
                if peer.notify_logging_message(log).await.is_err() {
                    return;
                }
            }
        });
    }
}

fn result(answer: Result<serde_json::Value, Refusal>) -> CallToolResult {
    match answer {
        Ok(value) => CallToolResult::structured(value),
        Err(refusal) => {
            let mut result = CallToolResult::structured_error(refusal.0.clone());
            result
                .content
                .insert(0, ContentBlock::text(refusal.sentence()));
            result
        }
    }
}

fn not_readable(refusal: Refusal) -> ErrorData {
    match refusal.0.get("code").and_then(serde_json::Value::as_str) {
        Some("internal_error" | "storage_failed" | "unreachable") => {
            ErrorData::internal_error(refusal.sentence(), Some(refusal.0))
        }
        _ => ErrorData::resource_not_found(refusal.sentence(), Some(refusal.0)),
    }
}

impl<E: Exchange> ServerHandler for Server<E> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .build();
        let party = &self.party;
        let server = Implementation::new("interwire", env!("CARGO_PKG_VERSION"))
            .with_title("Interwire message exchange");
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(format!(
                "You are {party} on a message exchange. `ask` another party for work and wait; `send` to \
                 tell without waiting; `inbox` shows what came for you; `reply` to a message (give its \
                 `delivery` too), or `ack` it. `find` lists whom you can write to; `trace` shows a whole \
                 conversation. Subscribe to {} to be told when something comes.",
                resources::inbox_uri(party)
            ))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let progress = Progress::of(&context);
        let call = tools::call(
            &request.name,
            request.arguments,
            &self.exchange,
            &self.party,
            progress,
        );
        let answer = tokio::select! {
            answer = call => answer,
            // Nobody waits for the answer; dropping the call gives it up.
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        };
        match answer {
            Some(answer) => Ok(result(answer).into()),
            None => {
                let names: Vec<_> = TOOLS.iter().map(|tool| tool.name.as_ref()).collect();
                let detail = format!(
                    "expected one of the tools {}, got {:?}",
                    names.join(", "),
                    request.name
                );
                Err(ErrorData::invalid_params(detail, None))
            }
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = resources::list(&self.exchange, &self.party, TASKS_LISTED_MAX).await;
        listed
            .map(ListResourcesResult::with_all_items)
            .map_err(not_readable)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let name = Name::parse(&request.uri).map_err(not_readable)?;
        let (media_type, text) = name.read(&self.exchange).await.map_err(not_readable)?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type(media_type);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let name = Name::parse(&request.uri).map_err(not_readable)?;
        if self.watched.lock().len() >= WATCHED_MAX {
            let detail = format!("expected at most {WATCHED_MAX} subscriptions of one session");
            return Err(ErrorData::invalid_params(detail, None));
        }
        let watched = Watched::begin(&name, &self.exchange).await;
        let mut watched = watched.map_err(not_readable)?;
        let end = self.end.child_token();
        let (peer, uri, ended) = (context.peer, request.uri.clone(), end.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = ended.cancelled() => return,
                    told = watched.next() => if told.is_none() { return },
                }
                let updated = ResourceUpdatedNotificationParam::new(uri.clone());
                if peer.notify_resource_updated(updated).await.is_err() {
                    return;
                }
            }
        });
        self.watched.lock().insert(request.uri, end.drop_guard());
        if name == Name::Inbox(self.party.as_str().to_owned()) {
            self.is_inbox_watched.store(true, Ordering::Release);
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.lock().remove(&request.uri);
        let name = Name::parse(&request.uri).map_err(not_readable)?;
        if name == Name::Inbox(self.party.as_str().to_owned()) {
            self.is_inbox_watched.store(false, Ordering::Release);
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.resource_subscriptions = requested.resource_subscriptions.as_ref().map(|uris| {
            let known = uris.iter().filter(|uri| Name::parse(uri).is_ok());
            known.take(WATCHED_MAX).cloned().collect()
        });
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = context.accepted().resource_subscriptions.clone();
        let mut watching = tokio::task::JoinSet::new();
        for uri in uris.unwrap_or_default() {
            let name = Name::parse(&uri).map_err(not_readable)?;
            let watched = Watched::begin(&name, &self.exchange).await;
            let mut watched = watched.map_err(not_readable)?;
            let sink = context.sink().clone();
            watching.spawn(async move {
                // What came between the acknowledgement and now.
                let mut told = Some(());
                while told.is_some() && sink.notify_resource_updated(&*uri).await.is_ok() {
                    told = watched.next().await;
                }
            });
        }
        context.cancelled().await;
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let is_quiet = !matches!(request.level, LoggingLevel::Debug | LoggingLevel::Info);
        self.is_quiet.store(is_quiet, Ordering::Release);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.log_arrivals(context.peer).await;
    }
}
