//! `GET .../healthz` and `GET .../stats`.

use crate::http::call::{Answer, Call, json};
use crate::http::door::Door;
use axum::http::StatusCode;
use protocol::Rejection;
use std::fmt::Write as _;

/// `{"status":"ok","runtime":{"id","source","version"},"delivery":stats}`; a refusal when the exchange
/// takes no work.
pub(crate) async fn health(call: Call) -> Answer {
    call.no_query()?;
    call.door.readiness()?;
    let head = call.door.handle.head().to_string();
    let lineage = head.split('-').next().unwrap_or_default();
    let mut out = format!(
        "{{\"status\":\"ok\",\"runtime\":{{\"id\":\"interwire-{lineage}\",\"source\":\"service:interwire\",\
         \"version\":\"{}\"}},\"delivery\":",
        env!("CARGO_PKG_VERSION")
    );
    write_stats(&mut out, &call.door).await?;
    out.push('}');
    Ok(json(StatusCode::OK, out))
}

pub(crate) async fn stats(call: Call) -> Answer {
    call.no_query()?;
    let mut out = String::new();
    write_stats(&mut out, &call.door).await?;
    Ok(json(StatusCode::OK, out))
}

/// The daemon's five numbers. What is owed and dead is exact and survives restarts; what was
/// acknowledged is counted since this process began.
async fn write_stats(out: &mut String, door: &Door) -> Result<(), Rejection> {
    let handle = &door.handle;
    let (counts, _) = handle.counts().await?;
    let _ = write!(
        out,
        "{{\"totalSequences\":{},\"pending\":{},\"acknowledged\":{},\"deadLettered\":{},\"lastAckCursor\":",
        handle.head().sequence,
        counts.waiting + counts.leased,
        handle.meter().acknowledgements.get(),
        counts.dead
    );
    match door.desk.last_acknowledged(handle.head()) {
        Some(cursor) => {
            let _ = write!(out, "\"{cursor}\"");
        }
        None => out.push_str("null"),
    }
    out.push('}');
    Ok(())
}
