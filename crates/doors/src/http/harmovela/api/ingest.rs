//! `POST .../events`: one event.

use crate::http::body::read_whole;
use crate::http::call::{Answer, Call, json};
use axum::http::StatusCode;
use protocol::json::push_string;
use protocol::{Code, DialectName, Fault, Rejection};
use std::sync::Arc;

/// 202 `{"accepted":true,"id":"...","receipt":{...}}` after the commit. The media type is not looked at,
/// because the daemon did not; types outside the registry are refused, because the protocol demands it.
pub(crate) async fn publish(call: Call) -> Answer {
    call.no_query()?;
    call.door.refuse_late()?;
    let (door, peer) = (Arc::clone(&call.door), Arc::clone(&call.peer));
    let (max, wait) = (door.envelope_bytes_max(), door.settings.body_wait());
    let envelope = read_whole(call.body, max, wait).await?;
    let reading = protocol::decode(&envelope, &door.handle.rules());
    let dialect = reading.dialect.map_or("none", DialectName::as_str);
    let checked = reading.into_result().and_then(|(header, warnings)| {
        match warnings
            .iter()
            .find(|one| one.code == Code::UnknownEventType)
        {
            Some(unknown) => Err(Rejection::from(Fault {
                code: Code::InvalidEventType,
                ..unknown.clone()
            })),
            None => Ok((header, warnings)),
        }
    });
    let (header, warnings) = match checked {
        Ok(read) => read,
        Err(refused) => {
            door.handle.count(dialect, refused.code().as_str());
            return Err(refused);
        }
    };
    let receipt = peer.handle.publish(header, envelope, warnings).await?;
    let mut out = String::from("{\"accepted\":true,\"id\":");
    push_string(&mut out, &receipt.header.id);
    out.push_str(",\"receipt\":");
    receipt.write_json(&mut out);
    out.push('}');
    Ok(json(StatusCode::ACCEPTED, out))
}
