//! Telling the exchange which tools there are (AEP 3.3, `capabilities.declared`).

use super::desk::Desk;
use crate::mcp::new_id;
use protocol::dialect::aep::{Aep, VERSION};
use protocol::{Code, Digest, Header, digest};
use rmcp::model::Tool;
use serde_json::{Value, json};

/// Publishes the tools of a server: to whoever asked, or to everybody when they changed. Tools that are
/// too many for one envelope are told without their schemas, then by name alone.
pub(super) async fn announce(desk: &Desk, asked: Option<&Header>, announced: &mut Option<Digest>) {
    let tools = desk.tools.lock().clone();
    let details: [fn(&Tool) -> Value; 3] = [whole, described, named];
    for detail in details {
        let payload = json!({
            "protocol": "aep",
            "spec_version": VERSION,
            "transports": ["mcp"],
            "features": ["tool_calls"],
            "server": desk.server.name,
            "tools": tools.iter().map(detail).collect::<Vec<_>>(),
        });
        let text = payload.to_string();
        let digest = digest(text.as_bytes());
        let kind = match announced {
            Some(before) if *before == digest && asked.is_none() => return,
            Some(_) if asked.is_none() => "capabilities.changed",
            _ => "capabilities.declared",
        };
        let now = desk.handle.now();
        let mut event = Aep::event(kind, desk.server.party.as_str()).payload_json(&text);
        if let Some(asked) = asked {
            event = event
                .target(asked.sender.as_str())
                .cause(&asked.id)
                .correlation(asked.correlation.as_deref().unwrap_or(&asked.id));
            if let Some(id) = &asked.conversation {
                event = event.conversation(id);
            }
        }
        let envelope = event.build(&format!("evt_{}", new_id(now)), now);
        match desk.handle.accept(envelope.into()).await {
            Ok(_) => {
                *announced = Some(digest);
                return;
            }
            Err(refused) if refused.code() == Code::TooLarge => {}
            Err(error) => {
                tracing::warn!(name = desk.server.name, %error, "the tools could not be announced");
                return;
            }
        }
    }
}

fn whole(tool: &Tool) -> Value {
    serde_json::to_value(tool).unwrap_or_else(|_| named(tool))
}

fn described(tool: &Tool) -> Value {
    json!({ "name": tool.name, "description": tool.description })
}

fn named(tool: &Tool) -> Value {
    json!({ "name": tool.name })
}
