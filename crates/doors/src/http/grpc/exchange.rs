//! The typed service: each call is one request to the exchange.

use super::generated::interwire_v1 as wire;
use super::problem::{self, status};
use super::{publish_many, read, subscribe};
use crate::http::deliveries::Settlement;
use crate::http::door::Door;
use crate::http::inbox::{PULL_DEFAULT, Pull};
use crate::http::peer::Peer;
use crate::http::problem::bad_request;
use crate::http::rendering;
use broker::{Departure, Handle, Settle};
use futures_util::stream::BoxStream;
use protocol::{Party, Rejection};
use std::sync::Arc;
use std::time::Duration;
use tonic::{Extensions, Request, Response, Status, Streaming};

type Answer<T> = Result<Response<T>, Status>;

/// `interwire.v1.Exchange` (`proto/interwire/v1/exchange.proto`).
pub(super) struct Exchange {
    door: Arc<Door>,
}

impl Exchange {
    pub(super) fn new(door: Arc<Door>) -> Self {
        Self { door }
    }

    fn answer<T>(&self, result: Result<T, Rejection>) -> Answer<T> {
        match result {
            Ok(answer) => Ok(Response::new(answer)),
            Err(refused) => Err(self.refuse(refused)),
        }
    }

    fn refuse(&self, refused: Rejection) -> Status {
        let refused = self.door.advise(refused);
        let (code, pointer) = (refused.code(), &refused.first().pointer);
        tracing::info!(%code, pointer, "refused over gRPC");
        status(&refused)
    }

    async fn settle(
        &self,
        extensions: &Extensions,
        deliveries: Vec<String>,
        how: Settle,
    ) -> Answer<wire::SettleResponse> {
        let handle = handle(&self.door, extensions);
        let settled = async {
            let settlement = Settlement::new(deliveries, how)?;
            let outcomes = settlement.run(&handle).await?;
            let results = settlement.deliveries.into_iter().zip(outcomes).enumerate();
            let results = results.map(|(at, (delivery, outcome))| match outcome {
                Ok(until) => wire::Settled {
                    delivery,
                    problem: None,
                    lease_until: until.map(|at| at.to_string()).unwrap_or_default(),
                },
                Err(refused) => {
                    let prefix = format!("/deliveries/{at}");
                    wire::Settled {
                        delivery,
                        problem: Some(problem::problem(&refused, &prefix)),
                        lease_until: String::new(),
                    }
                }
            });
            Ok(wire::SettleResponse {
                results: results.collect(),
            })
        };
        self.answer(settled.await)
    }

    async fn take(
        &self,
        extensions: &Extensions,
        request: wire::PullRequest,
    ) -> Result<wire::PullResponse, Rejection> {
        let settings = &self.door.settings;
        let wire::PullRequest {
            place,
            consumer,
            max,
            wait_ms,
            r#as,
        } = request;
        let wanted = rendering::from_text(&r#as)?;
        let most = settings.page_max;
        let max = match usize::try_from(max).unwrap_or(usize::MAX) {
            0 => most.min(usize::try_from(PULL_DEFAULT).unwrap_or(most)),
            max if max <= most => max,
            max => {
                let detail = format!("expected `max` to be at most {most}, got {max}");
                return Err(bad_request("/max", detail));
            }
        };
        if wait_ms > settings.pull_wait_ms_max {
            let detail = format!(
                "expected `wait_ms` to be at most {} milliseconds, got {wait_ms}",
                settings.pull_wait_ms_max
            );
            return Err(bad_request("/wait_ms", detail));
        }
        let pull = Pull {
            place: read::place(place)?,
            consumer: read::consumer(&consumer)?,
            max,
            wait: Duration::from_millis(wait_ms),
        };
        let handle = handle(&self.door, extensions);
        let pulled = pull.run(&self.door, &handle).await?;
        let deliveries = pulled
            .iter()
            .map(|one| read::delivery(&handle, one, wanted));
        Ok(wire::PullResponse {
            deliveries: deliveries.collect(),
        })
    }
}

/// The connection that a request came on.
fn peer(door: &Arc<Door>, extensions: &Extensions) -> Arc<Peer> {
    match extensions.get::<Arc<Peer>>() {
        Some(peer) => Arc::clone(peer),
        None => Arc::new(Peer::new(&door.handle, &door.settings, None)),
    }
}

fn handle(door: &Arc<Door>, extensions: &Extensions) -> Handle {
    peer(door, extensions).handle.clone()
}

#[tonic::async_trait]
impl wire::exchange_server::Exchange for Exchange {
    async fn publish(&self, request: Request<wire::PublishRequest>) -> Answer<wire::Receipt> {
        let handle = handle(&self.door, request.extensions());
        let published = handle.accept(request.into_inner().envelope).await;
        self.answer(published.map(|receipt| read::receipt(&receipt)))
    }

    type PublishManyStream = BoxStream<'static, Result<wire::PublishResult, Status>>;

    async fn publish_many(
        &self,
        request: Request<Streaming<wire::PublishRequest>>,
    ) -> Answer<Self::PublishManyStream> {
        let handle = handle(&self.door, request.extensions());
        let door = Arc::clone(&self.door);
        Ok(Response::new(publish_many::start(
            door,
            handle,
            request.into_inner(),
        )))
    }

    async fn get_message(
        &self,
        request: Request<wire::GetMessageRequest>,
    ) -> Answer<wire::Message> {
        let handle = handle(&self.door, request.extensions());
        let wire::GetMessageRequest { id, sender, r#as } = request.into_inner();
        let sender = (!sender.is_empty()).then(|| Party::parse(&sender));
        let found = async {
            let wanted = rendering::from_text(&r#as)?;
            let entry = handle.find(&id, sender).await?;
            match entry.shown_in(wanted).untranslated {
                Some(fault) => Err(fault.clone().into()),
                None => Ok(read::message(&handle, &entry, wanted)),
            }
        };
        self.answer(found.await)
    }

    type SubscribeStream = BoxStream<'static, Result<wire::SubscribeResponse, Status>>;

    async fn subscribe(
        &self,
        request: Request<wire::SubscribeRequest>,
    ) -> Answer<Self::SubscribeStream> {
        let peer = peer(&self.door, request.extensions());
        let wire::SubscribeRequest {
            filter,
            from,
            on_gap,
            mode,
            r#as,
        } = request.into_inner();
        let opened = async {
            self.door.refuse_late()?;
            let follow = read::follow(&on_gap, &mode)?;
            let filter = read::filter(filter)?;
            let wanted = rendering::from_text(&r#as)?;
            let from = read::from(&from);
            let tail = peer.handle.follow(filter, &from, follow).await?;
            Ok((tail, wanted))
        };
        let opened = opened.await;
        let door = Arc::clone(&self.door);
        self.answer(opened.map(|(tail, wanted)| subscribe::start(door, peer, tail, wanted)))
    }

    async fn pull(&self, request: Request<wire::PullRequest>) -> Answer<wire::PullResponse> {
        let (_, extensions, request) = request.into_parts();
        let taken = self.take(&extensions, request).await;
        self.answer(taken)
    }

    async fn ack(&self, request: Request<wire::AckRequest>) -> Answer<wire::SettleResponse> {
        let (_, extensions, request) = request.into_parts();
        self.settle(&extensions, request.deliveries, Settle::Ack)
            .await
    }

    async fn nack(&self, request: Request<wire::NackRequest>) -> Answer<wire::SettleResponse> {
        let (_, extensions, request) = request.into_parts();
        let how = Settle::Nack {
            retry_after_ms: request.retry_after_ms.map(milliseconds),
            reason: request.reason.into(),
        };
        self.settle(&extensions, request.deliveries, how).await
    }

    async fn reject(&self, request: Request<wire::RejectRequest>) -> Answer<wire::SettleResponse> {
        let (_, extensions, request) = request.into_parts();
        let how = Settle::Reject {
            reason: request.reason.into(),
        };
        self.settle(&extensions, request.deliveries, how).await
    }

    async fn extend(&self, request: Request<wire::ExtendRequest>) -> Answer<wire::SettleResponse> {
        let (_, extensions, request) = request.into_parts();
        let how = Settle::Extend {
            lease_ms: request.lease_ms.map(milliseconds),
        };
        self.settle(&extensions, request.deliveries, how).await
    }

    async fn leave(&self, request: Request<wire::LeaveRequest>) -> Answer<wire::LeaveResponse> {
        let handle = handle(&self.door, request.extensions());
        let wire::LeaveRequest { place, consumer } = request.into_inner();
        let left = async {
            let (place, consumer) = (read::place(place)?, read::consumer(&consumer)?);
            if consumer.is_none() {
                let detail = "expected `consumer` to be present";
                return Err(bad_request("/consumer", detail));
            }
            handle.leave(place, consumer, Departure::Leaves).await
        };
        self.answer(left.await.map(|()| wire::LeaveResponse {}))
    }
}

/// As the exchange counts; what is too long is refused where ranges are checked.
fn milliseconds(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
