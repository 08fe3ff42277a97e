//! Recognises the other protocol of the same name (PEERS 1.11, 7).
//!
//! agenteventprotocol.io also calls itself AEP. Its events observe an agent: `aep` holds the version, `time` the moment, `data` the content, and `epoch` and `seq` the place in a session.

use crate::json::{Kind, Value};
use crate::{Code, Fault};

/// The fault of an event of agenteventprotocol.io; `None` for anything else.
#[must_use]
pub fn look_alike(doc: Value<'_>) -> Option<Fault> {
    let is_string = |name| {
        doc.get(name)
            .is_some_and(|value| value.kind() == Kind::String)
    };
    let is_other = doc.get("aep").is_some() && is_string("type") && is_string("source");
    let is_ours = ["spec_version", "aep_version", "payload"]
        .iter()
        .any(|name| doc.get(name).is_some());
    (is_other && !is_ours).then(|| {
        Fault::new(
            Code::ForeignFormat,
            "/aep",
            "PEERS 7",
            "expected `spec_version` \"0.2\" (Agent Event Protocol, Harmovela), got an event of \
             agenteventprotocol.io, which only shares the name",
        )
    })
}
