//! `/v1/translate`: one envelope in another dialect, without publishing it.

use super::body::read_whole;
use super::call::{Answer, Call, json};
use super::problem::bad_request;
use axum::http::StatusCode;
use protocol::DialectName;

pub(crate) async fn translate(call: Call) -> Answer {
    let mut query = call.query()?;
    let to = query.word("to", DialectName::parse, "aee, aep or uai")?;
    query.finish()?;
    let Some(to) = to else {
        return Err(bad_request("/to", "expected `to`: aee, aep or uai"));
    };
    let (max, wait) = (
        call.door.envelope_bytes_max(),
        call.door.settings.body_wait(),
    );
    let rules = call.door.handle.rules();
    let envelope = read_whole(call.body, max, wait).await?;
    // What would be refused here is not said in other words first.
    protocol::decode(&envelope, &rules).into_result()?;
    let text = protocol::translate::translate(&envelope, to)?;
    Ok(json(StatusCode::OK, text))
}
