//! Inwards: envelopes that others published on a bus, handed to the exchange in their order.

use super::Link;
use broker::{Handle, Receipt, Submission, label};
use bytes::Bytes;
use protocol::{Code, DialectName, Filter, Rejection};
use tokio::sync::mpsc;

/// Hands what comes from one bus to the exchange.
pub(crate) struct Intake {
    handle: Handle,
    filter: Filter,
    pub link: Link,
}

/// What became of one envelope.
pub(crate) enum Taken {
    /// It is durable; so it may be confirmed on the bus.
    Accepted(Box<Receipt>),
    /// It never will be; whoever sent it must be told, and then it may be confirmed.
    Refused(Box<Rejection>),
    /// It is not wanted here; it may be confirmed.
    PassedBy,
    /// The exchange stops before it was durable; it must not be confirmed.
    Later,
}

impl Intake {
    /// `subscription` leads to the bus: what comes in is not put into it.
    pub(crate) fn new(handle: &Handle, subscription: &str, filter: Filter, link: Link) -> Self {
        Self {
            handle: handle.connection_from(subscription),
            filter,
            link,
        }
    }

    /// The same, for what comes as a request to the exchange alone: nobody else on the bus has seen it,
    /// so it goes out like anything else.
    #[cfg(feature = "nats")]
    pub(crate) fn of_requests(&self) -> Self {
        Self {
            handle: self.handle.connection(),
            filter: self.filter.clone(),
            link: self.link.clone(),
        }
    }

    /// This exchange as others on the bus know it, for as long as its journal lives.
    pub(crate) fn exchange(&self) -> String {
        exchange(&self.handle)
    }

    /// Reads and publishes envelopes in their order; what became of each. Waits as long as the exchange
    /// cannot take them for reasons that pass, such as a full queue, and only gives up when it stops.
    pub(crate) async fn take(&self, envelopes: Vec<Bytes>) -> Vec<Taken> {
        let mut taken: Vec<Option<Taken>> = envelopes.iter().map(|_| None).collect();
        let mut failures = 0;
        loop {
            let left = self.round(&envelopes, &mut taken).await;
            if left == 0 {
                break;
            }
            failures += 1;
            if !self.link.rest(failures).await {
                break;
            }
        }
        taken
            .into_iter()
            .map(|one| one.unwrap_or(Taken::Later))
            .collect()
    }

    /// Tries those that have no answer yet; how many are left without one.
    async fn round(&self, envelopes: &[Bytes], taken: &mut [Option<Taken>]) -> usize {
        let (results, mut answers) = mpsc::unbounded_channel();
        let mut together = Vec::new();
        let mut dialects = Vec::with_capacity(envelopes.len());
        let rules = self.handle.rules();
        for (at, (envelope, slot)) in envelopes.iter().zip(taken.iter_mut()).enumerate() {
            dialects.push("none");
            if slot.is_some() {
                continue;
            }
            let reading = protocol::decode(envelope, &rules);
            let dialect = reading.dialect.map_or("none", DialectName::as_str);
            if let Some(last) = dialects.last_mut() {
                *last = dialect;
            }
            match reading.into_result() {
                Ok((header, _)) if !self.filter.matches(&header) => {
                    self.count("passed_by");
                    *slot = Some(Taken::PassedBy);
                }
                Ok((header, warnings)) => together.push(Submission {
                    number: at as u64,
                    header,
                    envelope: envelope.clone(),
                    warnings,
                }),
                Err(rejection) => {
                    self.handle.count(dialect, rejection.code().as_str());
                    self.count("refused");
                    *slot = Some(Taken::Refused(Box::new(rejection)));
                }
            }
        }
        let mut left = together.len();
        self.handle.submit(together, &results).await;
        drop(results);
        while let Some((number, result)) = answers.recv().await {
            let at = usize::try_from(number).unwrap_or(usize::MAX);
            let result = result.and_then(|receipt| self.handle.complete(receipt));
            if let Err(rejection) = &result
                && passes(rejection.code())
            {
                continue;
            }
            let dialect = dialects.get(at).copied().unwrap_or("none");
            self.handle.count(dialect, label(&result));
            left = left.saturating_sub(1);
            let one = match result {
                Ok(receipt) => {
                    self.count(if receipt.duplicate {
                        "duplicate"
                    } else {
                        "accepted"
                    });
                    Taken::Accepted(Box::new(receipt))
                }
                Err(rejection) => {
                    self.count("refused");
                    Taken::Refused(Box::new(rejection))
                }
            };
            if let Some(slot) = taken.get_mut(at) {
                *slot = Some(one);
            }
        }
        left
    }

    fn count(&self, result: &'static str) {
        self.link.meter.inwards(self.link.kind, result);
    }
}

/// The exchange of `handle` as others on the bus know it.
pub(crate) fn exchange(handle: &Handle) -> String {
    let cursor = handle.head().to_string();
    let lineage = cursor.split('-').next();
    lineage.unwrap_or_default().to_owned()
}

/// Whether the reason for a refusal passes without anybody changing the message.
fn passes(code: Code) -> bool {
    matches!(
        code,
        Code::Overloaded | Code::Draining | Code::StorageFailed
    )
}

/// What a sender is told, as JSON: `{"receipt":{...}}` or `{"fault":{...}}`; nothing when there is
/// nothing to tell.
pub(crate) fn answer(taken: &Taken) -> Option<String> {
    let mut text = String::with_capacity(256);
    match taken {
        Taken::Accepted(receipt) => {
            text.push_str("{\"receipt\":");
            receipt.write_json(&mut text);
        }
        Taken::Refused(rejection) => {
            text.push_str("{\"fault\":");
            crate::http::problem::write(&mut text, rejection, "", None);
        }
        Taken::PassedBy | Taken::Later => return None,
    }
    text.push('}');
    Some(text)
}

/// What is put with the faults when there is nobody to answer: the fault, and where the original is.
/// `original` are names and JSON values.
pub(crate) fn report(rejection: &Rejection, original: &[(&str, String)]) -> String {
    let mut text = String::from("{\"fault\":");
    crate::http::problem::write(&mut text, rejection, "", None);
    text.push_str(",\"original\":{");
    for (at, (name, value)) in original.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&format!("\"{name}\":{value}"));
    }
    text.push_str("}}");
    text
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::new();
    protocol::json::push_string(&mut out, text);
    out
}
