//! Every route of the door in one table. The router is built from it and the OpenAPI document is
//! checked against it, so that neither can have what the other lacks.

use super::call::{Answer, Call, set_header};
use super::door::{Door, RequestId};
use super::grpc::{self, Grpc};
use super::meter::RequestLabels;
use super::peer::Peer;
use super::problem::{self, bad_request};
use super::{
    agents, ask, conversations, dead_letters, deliveries, harmovela, inbox, mcp, messages, openapi,
    operations, origin, places, receipts, socket, stream, subscriptions, tasks, translate, uaix,
    validate,
};
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::{Response, StatusCode};
use axum::routing::{MethodFilter, MethodRouter};
use futures_util::future::BoxFuture;
use protocol::{Code, Fault, Rejection};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The header that carries the request's id.
const REQUEST_ID: &str = "interwire-request-id";

/// A method of the table. `HEAD` comes with `Get`, `OPTIONS` with every path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are HTTP's own words")]
pub enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

impl Verb {
    /// The method as HTTP writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

type Handler = fn(Call) -> BoxFuture<'static, Answer>;

/// One line of the table.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub verb: Verb,
    /// The path; `{name}` stands for one segment.
    pub path: &'static str,
    /// The operation's name, as in the OpenAPI document.
    pub name: &'static str,
    /// One short sentence, as in the OpenAPI document.
    pub summary: &'static str,
    handler: Handler,
}

macro_rules! routes {
    ($($verb:ident $path:literal $name:literal $handler:path, $summary:literal;)*) => {
        /// Every route.
        pub static ROUTES: &[Route] = &[$(Route {
            verb: Verb::$verb,
            path: $path,
            name: $name,
            summary: $summary,
            handler: |call| Box::pin($handler(call)),
        },)*];
    };
}

routes! {
    Post "/v1/messages" "publish" messages::publish,
        "Publish one envelope, or many as lines";
    Get "/v1/messages" "page" messages::page,
        "A page of the journal, filtered, as lines";
    Get "/v1/messages/{id}" "message" messages::message,
        "One envelope, as the bytes that were sent";
    Get "/v1/messages/{id}/receipt" "receipt" receipts::receipt,
        "What became of a message, once or as it happens";
    Get "/v1/conversations/{id}" "conversation" conversations::conversation,
        "A conversation as a tree of causes, with what became of every message";
    Get "/v1/stream" "stream" stream::open,
        "Follow the journal as server-sent events";
    Get "/v1/socket" "socket" socket::open,
        "Publish, follow and consume over one WebSocket";
    Get "/v1/inbox/{party}" "inbox" inbox::inbox,
        "Pull deliveries from a party's inbox, or see the inbox";
    Put "/v1/inbox/{party}" "put_inbox" places::put_inbox,
        "Give a party's inbox delivery settings of its own";
    Post "/v1/inbox/{party}/pause" "pause_inbox" places::pause_inbox,
        "Hand out nothing from a party's inbox for now";
    Post "/v1/inbox/{party}/resume" "resume_inbox" places::resume_inbox,
        "Hand out from a party's inbox again";
    Post "/v1/deliveries/ack" "ack" deliveries::ack,
        "Acknowledge deliveries";
    Post "/v1/deliveries/nack" "nack" deliveries::nack,
        "Give deliveries back for another attempt";
    Post "/v1/deliveries/reject" "reject" deliveries::reject,
        "Make deliveries dead letters at once";
    Post "/v1/deliveries/extend" "extend" deliveries::extend,
        "Keep deliveries longer";
    Post "/v1/deliveries/leave" "leave" deliveries::leave,
        "Hand over what a consumer holds, because it leaves";
    Get "/v1/subscriptions" "subscriptions" subscriptions::list,
        "All durable subscriptions";
    Get "/v1/subscriptions/{name}" "subscription" subscriptions::show,
        "One durable subscription";
    Put "/v1/subscriptions/{name}" "put_subscription" subscriptions::put,
        "Create or confirm a durable subscription";
    Delete "/v1/subscriptions/{name}" "remove_subscription" subscriptions::remove,
        "Remove a durable subscription and what waits in it";
    Post "/v1/subscriptions/{name}/pause" "pause_subscription" places::pause_subscription,
        "Hand out nothing from a durable subscription for now";
    Post "/v1/subscriptions/{name}/resume" "resume_subscription" places::resume_subscription,
        "Hand out from a durable subscription again";
    Get "/v1/subscriptions/{name}/deliveries" "subscription_deliveries" inbox::subscription,
        "Pull deliveries from a durable subscription";
    Post "/v1/ask" "ask" ask::ask,
        "Publish a request and wait for its reply";
    Get "/v1/tasks" "tasks" tasks::list,
        "Tasks of all dialects, the newest first";
    Get "/v1/tasks/{id}" "task" tasks::show,
        "One task with its past, or as server-sent events until it ends";
    Post "/v1/tasks/{id}/cancel" "cancel_task" tasks::cancel,
        "Ask those who work on a task to end it";
    Get "/v1/dead-letters" "dead_letters" dead_letters::list,
        "Dead letters, with the envelope and how each attempt failed";
    Get "/v1/dead-letters/{delivery}" "dead_letter" dead_letters::show,
        "One dead letter";
    Delete "/v1/dead-letters/{delivery}" "drop_dead_letter" dead_letters::remove,
        "Let go of a dead letter";
    Post "/v1/dead-letters/{delivery}/redrive" "redrive" dead_letters::redrive,
        "Deliver a dead letter again";
    Get "/v1/agents" "agents" agents::list,
        "Find agents of the directory";
    Get "/v1/agents/{party}" "agent" agents::show,
        "One agent of the directory: its cards, and whether it is there";
    Put "/v1/agents/{party}" "put_agent" agents::put,
        "Register an agent's card, ours or one of A2A";
    Delete "/v1/agents/{party}" "remove_agent" agents::remove,
        "Take an agent out of the directory";
    Get "/v1/agents/{party}/agent-card.json" "agent_card" agents::card,
        "An agent's A2A card";
    Get "/.well-known/agent-card.json" "own_card" agents::own_card,
        "The A2A card of the exchange itself";
    Post "/v1/validate" "validate" validate::validate,
        "The verdict on one envelope, or on many as lines";
    Post "/v1/translate" "translate" translate::translate,
        "One envelope in another dialect";
    Get "/uaix/v1/catalog" "uaix_catalog" uaix::catalog,
        "Where the UAI-1 reference surface begins";
    Get "/uaix/v1/discovery" "uaix_discovery" uaix::discovery,
        "The routes of the UAI-1 reference surface";
    Get "/uaix/v1/schemas/{profile}" "uaix_schema" uaix::schema,
        "The JSON Schema of the messages of one UAI-1 profile";
    Get "/uaix/v1/registry" "uaix_registry" uaix::registry,
        "UAI-1 profiles, forms, extensions and features that are known here";
    Get "/uaix/v1/examples/{profile}" "uaix_example" uaix::example,
        "A valid message of one UAI-1 profile";
    Get "/uaix/v1/field-registry" "uaix_field_registry" uaix::field_registry,
        "The order tables of UAI-1's keyless form";
    Get "/uaix/v1/transport-bindings" "uaix_transport_bindings" uaix::transport_bindings,
        "The transports that carry UAI-1 here";
    Get "/uaix/v1/trust-channels" "uaix_trust_channels" uaix::trust_channels,
        "UAI-1 trust channels, and what each needs";
    Get "/uaix/v1/error-registry" "uaix_error_registry" uaix::error_registry,
        "The codes that a UAI-1 error may have";
    Get "/uaix/v1/conformance-levels" "uaix_conformance_levels" uaix::conformance_levels,
        "UAI-1 conformance levels, and which are met here";
    Get "/uaix/v1/openapi" "uaix_openapi" uaix::openapi,
        "This description, under the name of the reference surface";
    Get "/uaix/v1/conformance-pack" "uaix_conformance_pack" uaix::conformance_pack,
        "Fixtures for readers of UAI-1, valid and not";
    Post "/uaix/v1/validate" "uaix_validate" uaix::validate,
        "The verdict on one UAI-1 message, in UAI-1's own words";
    Post "/uaix/v1/mock-exchange" "uaix_mock_exchange" uaix::mock_exchange,
        "The conforming reply to one UAI-1 message, without an exchange";
    Post "/mcp" "mcp" mcp::mcp,
        "Call a tool or read a resource as an MCP host";
    Get "/mcp" "mcp_stream" mcp::mcp,
        "What an MCP session is told, as server-sent events";
    Delete "/mcp" "end_mcp" mcp::mcp,
        "End an MCP session";
    Get "/harmovela" "harmovela" harmovela::open,
        "An AEP session over WebSocket";
    Get "/aep" "aep" harmovela::open,
        "An AEP session over WebSocket, under the older name";
    Get "/harmovela/events" "harmovela_events" harmovela::stream,
        "Follow events as the AEP binding writes them";
    Get "/aep/events" "aep_events" harmovela::stream,
        "Follow events as the AEP binding writes them, under the older name";
    Post "/harmovela/events" "harmovela_ingest" harmovela::ingest,
        "Publish events as the AEP binding takes them";
    Post "/aep/events" "aep_ingest" harmovela::ingest,
        "Publish events as the AEP binding takes them, under the older name";
    Get "/harmovela/api/healthz" "harmovela_api_healthz" harmovela::api::health,
        "Whether work is taken, with the delivery counters, as the AEP daemon says";
    Post "/harmovela/api/events" "harmovela_api_publish" harmovela::api::publish,
        "Publish one AEP event, as the AEP daemon takes it";
    Get "/harmovela/api/stats" "harmovela_api_stats" harmovela::api::stats,
        "The delivery counters of the AEP daemon";
    Get "/harmovela/api/pending" "harmovela_api_pending" harmovela::api::pending,
        "What places owe, record by record";
    Get "/harmovela/api/dlq" "harmovela_api_dlq" harmovela::api::dead_letters,
        "Dead letters, record by record";
    Post "/harmovela/api/subscriptions" "harmovela_api_subscribe" harmovela::api::create,
        "Make a durable subscription for AEP events";
    Get "/harmovela/api/subscriptions" "harmovela_api_subscriptions" harmovela::api::list,
        "The subscriptions that were made here";
    Get "/harmovela/api/subscriptions/{id}" "harmovela_api_subscription" harmovela::api::show,
        "One subscription that was made here";
    Delete "/harmovela/api/subscriptions/{id}" "harmovela_api_unsubscribe" harmovela::api::remove,
        "Remove a subscription that was made here, and what waits in it";
    Get "/harmovela/api/subscriptions/{id}/events" "harmovela_api_subscription_events" harmovela::api::read,
        "Read what waits in a subscription, at most 100 events";
    Get "/harmovela/api/subscriptions/{id}/stream" "harmovela_api_subscription_stream" harmovela::api::stream,
        "Follow a subscription as server-sent events";
    Get "/aep/api/healthz" "aep_api_healthz" harmovela::api::health,
        "Whether work is taken, with the delivery counters, as the AEP daemon says, under the older name";
    Post "/aep/api/events" "aep_api_publish" harmovela::api::publish,
        "Publish one AEP event, as the AEP daemon takes it, under the older name";
    Get "/aep/api/stats" "aep_api_stats" harmovela::api::stats,
        "The delivery counters of the AEP daemon, under the older name";
    Get "/aep/api/pending" "aep_api_pending" harmovela::api::pending,
        "What places owe, record by record, under the older name";
    Get "/aep/api/dlq" "aep_api_dlq" harmovela::api::dead_letters,
        "Dead letters, record by record, under the older name";
    Post "/aep/api/subscriptions" "aep_api_subscribe" harmovela::api::create,
        "Make a durable subscription for AEP events, under the older name";
    Get "/aep/api/subscriptions" "aep_api_subscriptions" harmovela::api::list,
        "The subscriptions that were made here, under the older name";
    Get "/aep/api/subscriptions/{id}" "aep_api_subscription" harmovela::api::show,
        "One subscription that was made here, under the older name";
    Delete "/aep/api/subscriptions/{id}" "aep_api_unsubscribe" harmovela::api::remove,
        "Remove a subscription that was made here, and what waits in it, under the older name";
    Get "/aep/api/subscriptions/{id}/events" "aep_api_subscription_events" harmovela::api::read,
        "Read what waits in a subscription, at most 100 events, under the older name";
    Get "/aep/api/subscriptions/{id}/stream" "aep_api_subscription_stream" harmovela::api::stream,
        "Follow a subscription as server-sent events, under the older name";
    Get "/v1/openapi.json" "openapi" openapi::openapi,
        "This description";
    Get "/healthz" "healthz" operations::healthz,
        "Whether the process is alive";
    Get "/readyz" "readyz" operations::readyz,
        "Whether new work is taken";
    Get "/metrics" "metrics" operations::metrics,
        "Metrics in OpenMetrics text";
    Get "/" "index" operations::index,
        "A page for people: where the journal stands and where to go";
}

/// The router of every route in the table.
pub(crate) fn router(door: &Arc<Door>) -> Router {
    let mut paths: BTreeMap<&'static str, Vec<&'static Route>> = BTreeMap::new();
    for route in ROUTES {
        paths.entry(route.path).or_default().push(route);
    }
    let mut router = Router::new();
    for (path, routes) in paths {
        let mut methods = MethodRouter::new();
        for route in &routes {
            let (door, route) = (Arc::clone(door), *route);
            let mut filter = route.verb.filter();
            if matches!(route.path, "/v1/socket" | "/harmovela" | "/aep") {
                // A WebSocket over HTTP/2 opens with CONNECT (RFC 8441).
                filter = filter.or(MethodFilter::CONNECT);
            }
            methods = methods.on(filter, move |request: Request| run(door, route, request));
        }
        let (own, allow) = (Arc::clone(door), allow(&routes));
        let fallback = move |request: Request| other_method(own, path, Arc::clone(&allow), request);
        let methods = methods.fallback(fallback);
        if door.settings.uai_wp_json && uaix::is_below(path) {
            router = router.route(&format!("{}{path}", uaix::ALIAS), methods.clone());
        }
        router = router.route(path, methods);
    }
    let (door, grpc) = (Arc::clone(door), Grpc::new(door));
    router.fallback(move |request: Request| async move {
        if grpc::is_grpc(request.headers()) {
            grpc.answer(request).await
        } else {
            no_route(door, request).await
        }
    })
}

/// Runs one request through its handler and finishes the answer.
async fn run(door: Arc<Door>, route: &'static Route, request: Request) -> Response<Body> {
    let start = Instant::now();
    let (mut parts, body) = request.into_parts();
    let request_id = door.request_id(&parts.headers);
    let uri = parts.uri.clone();
    let neighbour = origin::check(&parts, door.is_loopback, &door.settings.hosts);
    let answer = match RawPathParams::from_request_parts(&mut parts, &()).await {
        _ if neighbour.is_err() => neighbour.map(|()| Response::new(Body::empty())),
        Ok(params) => {
            let peer = parts.extensions.remove::<Arc<Peer>>();
            let peer =
                peer.unwrap_or_else(|| Arc::new(Peer::new(&door.handle, &door.settings, None)));
            let (door, request_id) = (Arc::clone(&door), request_id.clone());
            (route.handler)(Call {
                door,
                request_id,
                peer,
                parts,
                body,
                params,
            })
            .await
        }
        Err(_) => Err(bad_request(
            "",
            "expected percent-encoded UTF-8 in the path",
        )),
    };
    finish(
        &door,
        route.path,
        route.verb.as_str(),
        &request_id,
        start,
        answer.map_err(|refused| (refused, uri.path())),
    )
}

/// Refuses a method that the path does not take; answers `OPTIONS`.
async fn other_method(
    door: Arc<Door>,
    path: &'static str,
    allow: Arc<str>,
    request: Request,
) -> Response<Body> {
    let start = Instant::now();
    let request_id = door.request_id(request.headers());
    let is_options = request.method() == axum::http::Method::OPTIONS;
    let answer = if is_options {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    } else {
        let detail = format!("expected {allow} on {path}, got {}", request.method());
        Err(Fault::new(Code::MethodNotAllowed, "", "OPENAPI", detail).into())
    };
    let method = if is_options { "OPTIONS" } else { "other" };
    let mut response = finish(
        &door,
        path,
        method,
        &request_id,
        start,
        answer.map_err(|refused| (refused, request.uri().path())),
    );
    set_header(&mut response, "allow", &allow);
    response
}

async fn no_route(door: Arc<Door>, request: Request) -> Response<Body> {
    let request_id = door.request_id(request.headers());
    let detail = format!(
        "expected one of the paths in /v1/openapi.json, got {:?}",
        request.uri().path().chars().take(256).collect::<String>()
    );
    let refused = Fault::new(Code::RouteNotFound, "", "OPENAPI", detail).into();
    finish(
        &door,
        "unknown",
        "other",
        &request_id,
        Instant::now(),
        Err((refused, request.uri().path())),
    )
}

/// Gives the answer its request id, counts it and logs one line: refusals always, the rest on
/// demand, because one line per publish would cost more than the publish. The path of what was refused
/// says in which shape it is refused.
fn finish(
    door: &Door,
    route: &'static str,
    method: &'static str,
    request_id: &RequestId,
    start: Instant,
    answer: Result<Response<Body>, (Rejection, &str)>,
) -> Response<Body> {
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let mut response = match answer {
        Ok(response) => {
            let status = response.status().as_u16();
            tracing::debug!(%request_id, method, route, status, micros, "answered");
            response
        }
        Err((rejection, path)) => {
            let rejection = door.advise(rejection);
            log_refusal(&rejection, method, route, request_id, micros);
            if uaix::is_below(path) {
                uaix::refusal(&rejection, path)
            } else {
                let refuse = harmovela::api::refusal_of(path).unwrap_or(problem::response);
                refuse(&rejection, request_id.as_str())
            }
        }
    };
    let status = response.status().as_u16();
    door.meter
        .requests
        .get_or_create(&RequestLabels {
            route,
            method,
            status,
        })
        .inc();
    set_header(&mut response, REQUEST_ID, request_id.as_str());
    response
}

fn log_refusal(
    rejection: &Rejection,
    method: &str,
    route: &str,
    request_id: &RequestId,
    micros: u64,
) {
    let (code, pointer) = (rejection.code(), &rejection.first().pointer);
    let status = code.class().http_status();
    if status >= 500 {
        tracing::warn!(%request_id, method, route, status, %code, pointer, micros, "refused");
    } else {
        tracing::info!(%request_id, method, route, status, %code, pointer, micros, "refused");
    }
}

/// The value of `Allow`.
fn allow(routes: &[&'static Route]) -> Arc<str> {
    let mut words = Vec::new();
    for route in routes {
        words.push(route.verb.as_str());
        if route.verb == Verb::Get {
            words.push("HEAD");
        }
    }
    words.push("OPTIONS");
    words.join(", ").into()
}
