//! Writing one AEE envelope: all fourteen members, or a log record (AEE 2.1).

use crate::tree::Tree;
use crate::wrap::Tier;
use protocol::Timestamp;
use protocol::json::push_string;

/// What an envelope says.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: &'static str,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) intent: String,
    pub(crate) corr: String,
    pub(crate) reply_to: Option<String>,
    pub(crate) ts: Timestamp,
    pub(crate) payload: Tree,
}

impl Envelope {
    /// One line of JSON. A log record has no `to`, so it is never taken for work; it has the
    /// conversation and the cause, which every reader of logs wants.
    pub(crate) fn write(&self, id: &str, tier: Tier) -> String {
        let mut out = String::from("{\"v\":\"1\"");
        let mut member = |name: &str, text: Option<&str>| {
            out.push_str(",\"");
            out.push_str(name);
            out.push_str("\":");
            match text {
                Some(text) => push_string(&mut out, text),
                None => out.push_str("null"),
            }
        };
        member("id", Some(id));
        member("ts", Some(&self.ts.to_string()));
        member("type", Some(self.kind));
        member("from", Some(&self.from));
        if tier == Tier::Full {
            member("to", Some(&self.to));
        }
        member("intent", Some(&self.intent));
        member("corr", Some(&self.corr));
        member("reply_to", self.reply_to.as_deref());
        if tier == Tier::Full {
            out.push_str(",\"trace\":null,\"priority\":\"normal\",\"requires\":null");
        }
        out.push_str(",\"payload\":");
        self.payload.write(&mut out);
        if tier == Tier::Full {
            out.push_str(",\"sig\":null");
        }
        out.push('}');
        out
    }
}
