//! What the handle asks of the loop.

use crate::Receipt;
use crate::channel::Channel;
use crate::lane::Share;
use crate::turn::Turn;
use bytes::Bytes;
use exchange::{ChannelId, Consumer, DeliveryId, Lease, PlaceName, Settle};
use protocol::{Fault, Filter, Header, Rejection};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

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
    /// The subscription that leads to where it came from.
    pub origin: Option<Arc<str>>,
    /// Its share of the queue, given back when the loop takes it. The last of several that came
    /// together holds the share of all.
    pub room: Option<Room>,
}

/// A share of the connection's part of the queue and of the whole.
#[derive(Debug)]
pub(crate) struct Room {
    pub _own: Share,
    pub _of_all: Share,
}

/// A live channel and the sequence after which it will miss nothing.
pub(crate) type Listening = (Arc<Channel>, u64);

/// What a pull finds.
pub(crate) type Pulled = Result<Vec<Lease>, Rejection>;

/// What settling a list of deliveries gives, one result for each.
pub(crate) type Settled = exchange::Results;

/// A request with the number of its lane.
pub(crate) struct Queued {
    pub lane: u64,
    pub request: Request,
}

pub(crate) enum Request {
    Publish(Publish),
    /// Publishes that arrived together, in order, so that one commit can take them all.
    PublishMany(Vec<Publish>),
    Listen {
        filter: Filter,
        reply: oneshot::Sender<Listening>,
    },
    Unlisten(ChannelId),
    Pull {
        place: PlaceName,
        consumer: Consumer,
        max: usize,
        /// Most that the consumer may hold of the place.
        held_max: usize,
        /// Park when there is nothing; the caller keeps the time and drops the receiver.
        wait: bool,
        reply: oneshot::Sender<Pulled>,
    },
    Settle {
        deliveries: Vec<DeliveryId>,
        how: Settle,
        reply: oneshot::Sender<Settled>,
    },
    /// Anything else that is done rarely: it runs in the loop, and answers by itself, at once or
    /// through an effect.
    Act(Box<dyn FnOnce(&mut Turn) + Send>),
    /// Take nothing new after what is queued; answered when all before it is durable.
    Close {
        reply: oneshot::Sender<()>,
    },
}
