//! gRPC on the same listener: the typed service `interwire.v1.Exchange`, AEP sessions under both names of
//! their binding, health and reflection (`proto/`, `docs/grpc.md`).
//!
//! Whatever is refused ends with a status that carries the same problem as over HTTP. Requests are told
//! from others by their content type, so that an unknown method is answered as gRPC answers it.

mod exchange;
mod generated;
mod health;
mod problem;
mod publish_many;
mod read;
mod subscribe;
mod transport;

use super::door::{Door, RequestId};
use super::meter::RequestLabels;
use super::origin;
use super::peer::Peer;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use std::sync::Arc;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tower_service::Service as _;

/// What every gRPC message may have besides its envelope, in bytes.
const MESSAGE_ROOM_BYTES: usize = 64 << 10;

/// Bytes of one message that AEP's binding promises to take (AEP 9.4).
const MESSAGE_BYTES_MIN: usize = 4 << 20;

/// Everything that is served.
#[derive(Clone)]
pub(crate) struct Grpc {
    door: Arc<Door>,
    routes: Routes,
}

/// Whether a request speaks gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE);
    content.is_some_and(|text| text.as_bytes().starts_with(b"application/grpc"))
}

impl Grpc {
    pub(crate) fn new(door: &Arc<Door>) -> Self {
        let message_bytes_max = message_bytes_max(door);
        let exchange = exchange::Exchange::new(Arc::clone(door));
        let exchange = generated::interwire_v1::exchange_server::ExchangeServer::new(exchange)
            .max_decoding_message_size(message_bytes_max)
            .max_encoding_message_size(usize::MAX)
            .accept_compressed(CompressionEncoding::Gzip)
            .send_compressed(CompressionEncoding::Gzip);
        let session = || transport::Transport::new(Arc::clone(door));
        let harmovela =
            generated::harmovela_v1::harmovela_transport_server::HarmovelaTransportServer::new(
                session(),
            )
            .max_decoding_message_size(message_bytes_max)
            .max_encoding_message_size(usize::MAX);
        let aep = generated::aep_v1::aep_transport_server::AepTransportServer::new(session())
            .max_decoding_message_size(message_bytes_max)
            .max_encoding_message_size(usize::MAX);
        let mut routes = Routes::default()
            .add_service(exchange)
            .add_service(harmovela)
            .add_service(aep)
            .add_service(health::service(door));
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(generated::DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        match (reflection().build_v1(), reflection().build_v1alpha()) {
            (Ok(newer), Ok(older)) => routes = routes.add_service(newer).add_service(older),
            (Err(error), _) | (_, Err(error)) => {
                // The descriptors are part of the program; a test sees that they can be read.
                tracing::error!(%error, "no reflection");
            }
        }
        Self {
            door: Arc::clone(door),
            routes: routes.prepare(),
        }
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, request: Request) -> Response<Body> {
        let (door, request_id) = (&self.door, self.door.request_id(request.headers()));
        let (mut parts, body) = request.into_parts();
        if let Err(refused) = origin::check(&parts, door.is_loopback, &door.settings.hosts) {
            return self.finish(&request_id, problem::status(&refused).into_http());
        }
        if parts.extensions.get::<Arc<Peer>>().is_none() {
            let peer = Arc::new(Peer::new(&door.handle, &door.settings, None));
            parts.extensions.insert(peer);
        }
        let mut routes = self.routes.clone();
        let response = match routes.call(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        self.finish(&request_id, response.map(Body::new))
    }

    fn finish(&self, request_id: &RequestId, mut response: Response<Body>) -> Response<Body> {
        if let Ok(value) = HeaderValue::from_str(request_id.as_str()) {
            response.headers_mut().insert("interwire-request-id", value);
        }
        let labels = RequestLabels {
            route: "grpc",
            method: "POST",
            status: response.status().as_u16(),
        };
        self.door.meter.requests.get_or_create(&labels).inc();
        response
    }
}

/// Bytes of one message that is read. An envelope beyond its own limit gets the fault that says so.
fn message_bytes_max(door: &Door) -> usize {
    let room = door.envelope_bytes_max().saturating_add(MESSAGE_ROOM_BYTES);
    room.max(MESSAGE_BYTES_MIN)
}
