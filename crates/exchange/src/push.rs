//! Where a subscription's deliveries are pushed.

use crate::exchange::Exchange;
use crate::record::Record;
use protocol::{Code, Fault, Rejection};
use std::fmt;

/// An address that deliveries are sent to, and what they are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct Push {
    /// The address. Whether it may be called is not decided here.
    pub url: Box<str>,
    /// The key of signatures, as its receiver has it.
    pub secret: Box<str>,
}

impl fmt::Debug for Push {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push").field("url", &self.url).finish()
    }
}

impl Exchange {
    /// Pushes a subscription's deliveries to an address, or to none any more. There is a record only
    /// if that changes.
    ///
    /// # Errors
    /// `not_found`; `subscription_conflict` when it feeds an inbox and so hands out nothing itself.
    pub fn put_push(
        &mut self,
        name: &str,
        push: Option<Push>,
    ) -> Result<Option<Record>, Rejection> {
        let Some(view) = self.subscription(name) else {
            let detail = format!("expected a subscription, got {name:?}");
            return Err(fault(Code::NotFound, "/name", detail));
        };
        if view.push == push {
            return Ok(None);
        }
        if view.deliver_to.is_some() && push.is_some() {
            let detail = "expected `push` or `deliver_to`, got both: what feeds an inbox hands out nothing itself";
            return Err(fault(Code::SubscriptionConflict, "/push", detail.into()));
        }
        self.subscriptions.set_push(name, push.clone());
        let inbox = view
            .deliver_to
            .as_ref()
            .and_then(|party| self.places.inbox(party));
        Ok(Some(Record::SubscriptionPut {
            id: view.id,
            name: view.name,
            filter: view.filter,
            deliver_to: view.deliver_to,
            inbox,
            settings: view.settings,
            push,
        }))
    }
}

fn fault(code: Code, pointer: &str, detail: String) -> Rejection {
    Fault::new(code, pointer, "ARCHITECTURE subscriptions", detail).into()
}
