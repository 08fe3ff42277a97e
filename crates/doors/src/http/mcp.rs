//! `/mcp` in the table of routes, also in a build that leaves the protocol out.

use super::call::{Answer, Call};

#[cfg(feature = "mcp")]
pub(crate) async fn mcp(call: Call) -> Answer {
    crate::mcp::http::mcp(call).await
}

#[cfg(not(feature = "mcp"))]
pub(crate) async fn mcp(_call: Call) -> Answer {
    let detail = "expected a build with the feature `mcp`, got one without";
    Err(protocol::Fault::new(protocol::Code::RouteNotFound, "", "OPENAPI", detail).into())
}
