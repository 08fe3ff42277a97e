//! `grpc.health.v1.Health`: ready as `/readyz` says it.

use crate::http::door::Door;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use std::sync::Arc;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// The names that can be asked for; the empty one means everything.
const NAMES: [&str; 2] = ["", "interwire.v1.Exchange"];

pub(super) fn service(door: &Arc<Door>) -> HealthServer<Readiness> {
    HealthServer::new(Readiness(Arc::clone(door)))
}

pub(super) struct Readiness(Arc<Door>);

impl Readiness {
    fn now(&self) -> HealthCheckResponse {
        answer(self.0.readiness().is_ok())
    }
}

fn answer(is_ready: bool) -> HealthCheckResponse {
    let status = if is_ready {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    };
    HealthCheckResponse {
        status: status.into(),
    }
}

#[tonic::async_trait]
impl Health for Readiness {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        if NAMES.contains(&&*service) {
            Ok(Response::new(self.now()))
        } else {
            Err(Status::not_found(format!(
                "expected one of {NAMES:?}, got {service:?}"
            )))
        }
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let service = request.into_inner().service;
        if !NAMES.contains(&&*service) {
            let unknown = HealthCheckResponse {
                status: ServingStatus::ServiceUnknown.into(),
            };
            let stop = self.0.stop.clone();
            // The protocol keeps the call open, because the service may come.
            let rest = stream::once(async move {
                stop.draining().await;
                Err(Status::unavailable("draining"))
            });
            let first = stream::once(async move { Ok(unknown) });
            return Ok(Response::new(first.chain(rest).boxed()));
        }
        let (first, stop, end) = (self.now(), self.0.stop.clone(), self.0.stop.clone());
        let first = stream::once(async move { Ok(first) });
        let last = stream::once(async move {
            stop.asked().await;
            Ok(answer(false))
        });
        let ended = stream::once(async move {
            end.draining().await;
            Err(Status::unavailable("draining"))
        });
        Ok(Response::new(first.chain(last).chain(ended).boxed()))
    }
}
