//! Where the requests of one server arrive: each is handed to a call of its own.

use super::call::{Call, Running};
use super::connection::{self, Connection};
use super::events::Request;
use super::progress::Reports;
use super::{McpServer, announce};
use crate::http::Stop;
use broker::{Delivery, Handle, PlaceName, Portion, Settle};
use parking_lot::Mutex;
use protocol::{Digest, Header};
use rmcp::RoleClient;
use rmcp::model::Tool;
use rmcp::service::Peer;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

/// How long one pull waits for a request.
const PULL_WAIT: Duration = Duration::from_secs(20);

/// Requests that are held at once, running or waiting for their turn.
const HELD_MAX: usize = 256;

/// Requests in one pull.
const PULLED_MAX: usize = 32;

/// Pause after the inbox could not be read.
const PULL_PAUSE: Duration = Duration::from_secs(1);

/// What all calls of one life of a server share.
#[derive(Debug)]
pub(super) struct Desk {
    pub server: McpServer,
    pub handle: Handle,
    pub peer: Peer<RoleClient>,
    pub tools: Mutex<Arc<Vec<Tool>>>,
    pub reports: Mutex<Arc<Reports>>,
    /// A call found that the server has gone.
    pub lost: Notify,
    /// Turns to run.
    pub turns: Arc<Semaphore>,
    /// Calls by sender and id of their request.
    running: Mutex<HashMap<(String, String), Arc<Running>>>,
}

impl Desk {
    pub(super) fn new(
        server: McpServer,
        handle: Handle,
        peer: Peer<RoleClient>,
        tools: Vec<Tool>,
    ) -> Arc<Self> {
        let turns = Arc::new(Semaphore::new(server.calls_max.max(1)));
        Arc::new(Self {
            server,
            handle,
            peer,
            tools: Mutex::new(Arc::new(tools)),
            reports: Mutex::default(),
            lost: Notify::new(),
            turns,
            running: Mutex::default(),
        })
    }

    /// Takes requests until the server has gone or the exchange drains. Calls that run then are given
    /// up: without a server they fail; at a drain they are told of by the next life.
    pub(super) async fn work(
        self: &Arc<Self>,
        mut connection: Connection,
        stop: &Stop,
        announced: &mut Option<Digest>,
    ) {
        let listener = connection.listener();
        *self.reports.lock() = Arc::clone(&listener.reports);
        let mut calls = JoinSet::new();
        loop {
            tokio::select! {
                () = connection.gone() => break,
                () = self.lost.notified() => break,
                () = stop.draining() => {
                    // Nothing can be published any more.
                    calls.abort_all();
                    break;
                }
                () = listener.changed.notified() => {
                    if let Ok(tools) = connection::list(&self.peer).await {
                        *self.tools.lock() = Arc::new(tools);
                        announce::announce(self, None, announced).await;
                    }
                }
                pulled = self.pull(), if calls.len() < HELD_MAX => match pulled {
                    Ok(deliveries) => {
                        for delivery in deliveries {
                            self.take(delivery, &mut calls, announced).await;
                        }
                    }
                    Err(error) => {
                        tracing::warn!(name = self.server.name, %error, "requests cannot be taken");
                        tokio::time::sleep(PULL_PAUSE).await;
                    }
                },
                Some(_) = calls.join_next(), if !calls.is_empty() => {}
            }
        }
        connection.close().await;
        // Each learns that its server has gone, and says so.
        while calls.join_next().await.is_some() {}
    }

    async fn pull(&self) -> Result<Vec<Delivery>, protocol::Rejection> {
        let place = PlaceName::Inbox(self.server.party.clone());
        let portion = Portion {
            held_max: HELD_MAX,
            ..Portion::of(PULLED_MAX)
        };
        self.handle
            .pull_within(place, None, portion, PULL_WAIT)
            .await
    }

    async fn take(
        self: &Arc<Self>,
        delivery: Delivery,
        calls: &mut JoinSet<()>,
        announced: &mut Option<Digest>,
    ) {
        let header = &delivery.entry.header;
        match &*header.kind {
            "tool.call.requested" => self.begin(delivery, calls),
            "tool.call.cancel.requested" => {
                self.cancel(&delivery);
                self.settle(&delivery, Settle::Ack).await;
            }
            "capabilities.requested" => {
                announce::announce(self, Some(header), announced).await;
                self.settle(&delivery, Settle::Ack).await;
            }
            kind => {
                let reason = format!("expected tool.call.requested, got {kind}");
                self.settle(
                    &delivery,
                    Settle::Reject {
                        reason: reason.into(),
                    },
                )
                .await;
            }
        }
    }

    fn begin(self: &Arc<Self>, delivery: Delivery, calls: &mut JoinSet<()>) {
        let header = Header::clone(&delivery.entry.header);
        let key = (header.sender.as_str().to_owned(), header.id.to_string());
        let request = Request {
            header,
            party: self.server.party.clone(),
        };
        let running = Arc::new(Running::new(request, delivery));
        {
            let mut all = self.running.lock();
            if let Some(before) = all.get(&key) {
                // Its lease ran out and it was handed out again while it still runs.
                before.renew(running.delivery());
                return;
            }
            all.insert(key.clone(), Arc::clone(&running));
        }
        let desk = Arc::clone(self);
        calls.spawn(async move {
            Call::new(&desk, &running).run().await;
            desk.running.lock().remove(&key);
        });
    }

    /// Calls off the call that a message names: by its cause, its correlation, or `call_id`. Only who
    /// asked for a call can; a call that has ended stays as it ended.
    fn cancel(&self, delivery: &Delivery) {
        let header = &delivery.entry.header;
        let doc: serde_json::Value =
            serde_json::from_slice(&delivery.entry.envelope).unwrap_or_default();
        let text = |name: &str| {
            let place = format!("/payload/{name}");
            doc.pointer(&place)?.as_str().map(str::to_owned)
        };
        // A correlation may be that of several calls; whoever names one call means that one.
        let exact = [header.cause.as_deref().map(str::to_owned), text("call_id")];
        let named: Vec<String> = match exact.into_iter().flatten().collect::<Vec<_>>() {
            none if none.is_empty() => header.correlation.iter().map(ToString::to_string).collect(),
            exact => exact,
        };
        let reason = text("reason").unwrap_or_else(|| "it was called off".to_owned());
        let all = self.running.lock();
        let of_sender = all
            .values()
            .filter(|running| running.request.header.sender == header.sender);
        for running in of_sender {
            let request = &running.request.header;
            let is_meant = named
                .iter()
                .any(|name| **name == *request.id || request.correlation.as_deref() == Some(name));
            if is_meant {
                running.cancel(reason.clone());
            }
        }
    }

    pub(super) async fn settle(&self, delivery: &Delivery, how: Settle) {
        let settled = self.handle.settle(vec![delivery.id], how).await;
        let failed = match settled {
            Ok(results) => results.into_iter().find_map(Result::err),
            Err(rejection) => Some(rejection),
        };
        if let Some(error) = failed {
            // It comes again, and what was said of it is found then.
            tracing::info!(name = self.server.name, %error, "a request could not be settled");
        }
    }
}
