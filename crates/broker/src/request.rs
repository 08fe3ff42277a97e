//! What the handle asks of the loop.

use crate::Receipt;
use crate::channel::Channel;
use bytes::Bytes;
use exchange::{ChannelId, Counts, DeliveryId, Lease, PlaceName, Settle, SubscriptionView};
use protocol::{Fault, Filter, Header, Party, Rejection};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

/// The result of one publish.
pub type Published = Result<Receipt, Rejection>;

/// Where a publish's result goes.
pub(crate) enum Ticket {
    /// To one waiting caller.
    One(oneshot::Sender<Published>),
    /// Into a connection's stream of results, under the caller's number.
    Piped(u64, mpsc::UnboundedSender<(u64, Published)>),
}

impl Ticket {
    /// Hands the result over. A caller who has gone away does not need it.
    pub(crate) fn answer(self, result: Published) {
        match self {
            Self::One(caller) => drop(caller.send(result)),
            Self::Piped(number, stream) => drop(stream.send((number, result))),
        }
    }
}

/// One publish, checked and waiting for the loop.
pub(crate) struct Publish {
    pub header: Arc<Header>,
    pub envelope: Bytes,
    pub warnings: Vec<Fault>,
    pub ticket: Ticket,
    /// Its share of the queue's bytes, given back when the loop takes it. The first of several that
    /// came together holds the share of all.
    pub permit: Option<OwnedSemaphorePermit>,
}

/// A live channel and the sequence after which it will miss nothing.
pub(crate) type Listening = (Arc<Channel>, u64);

/// What a pull finds.
pub(crate) type Pulled = Result<Vec<Lease>, Rejection>;

/// What settling a list of deliveries gives, one result for each.
pub(crate) type Settled = Vec<Result<(), Rejection>>;

/// A durable subscription after it was put.
pub(crate) type Put = Result<SubscriptionView, Rejection>;

pub(crate) enum Request {
    Publish(Publish),
    /// Publishes that arrived together, in order, so that one commit can take them all.
    PublishMany(Vec<Publish>),
    PutSubscription {
        name: Box<str>,
        filter: Filter,
        deliver_to: Option<Party>,
        reply: oneshot::Sender<Put>,
    },
    RemoveSubscription {
        name: Box<str>,
        reply: oneshot::Sender<Result<(), Rejection>>,
    },
    Subscriptions {
        reply: oneshot::Sender<Vec<SubscriptionView>>,
    },
    Listen {
        filter: Filter,
        reply: oneshot::Sender<Listening>,
    },
    Unlisten(ChannelId),
    Pull {
        place: PlaceName,
        max: usize,
        /// Park when there is nothing; the caller keeps the time and drops the receiver.
        wait: bool,
        reply: oneshot::Sender<Pulled>,
    },
    Settle {
        deliveries: Vec<DeliveryId>,
        how: Settle,
        reply: oneshot::Sender<Settled>,
    },
    Counts {
        reply: oneshot::Sender<(Counts, protocol::dialect::aep::flow::Stats)>,
    },
    /// Take nothing new after what is queued; answered when all before it is durable.
    Close {
        reply: oneshot::Sender<()>,
    },
}
