//! The trace itself: what is under what, what is missing, and what became of everything.

use super::fate::{Delivery, Fate};
use super::gather::Gather;
use super::node::Node;
use super::query::By;
use super::resolve::{Meaning, resolve};
use super::texts::{TextId, Texts};
use crate::place::{DeliveryState, PlaceId, PlaceName};
use crate::record::Record;
use protocol::Timestamp;
use std::collections::{BTreeMap, HashMap};

/// A whole trace, or a page of one.
#[derive(Debug)]
pub struct Trace {
    pub(super) texts: Texts,
    /// The name that was asked for.
    pub(super) asked: TextId,
    pub(super) seed: Option<(By, TextId)>,
    /// In journal order.
    pub(super) nodes: Vec<Node>,
    pub(super) causes: Vec<Cause>,
    /// Causes that are not messages of this trace, in the order they were first named.
    pub(super) stubs: Vec<Stub>,
    /// Of each message and then of each stub, in journal order.
    children: Children,
    /// In journal order; a stub comes where its first effect would.
    pub(super) roots: Vec<Item>,
    /// Of all messages; those of one by place.
    deliveries: Vec<Delivery>,
    /// Where the deliveries of each message begin.
    first_delivery: Vec<usize>,
    pub(super) names: BTreeMap<PlaceId, Option<PlaceName>>,
    pub(super) related: Vec<(TextId, TextId)>,
    /// When this is a page: the sequence after which the next begins.
    pub(super) next: Option<u64>,
}

/// What a message names as its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nothing.
    None,
    /// A message of this trace.
    Node(u32),
    /// Something else.
    Stub(u32),
    /// One of its own effects, so that it is shown without a cause.
    Circle(u32),
}

/// A cause that is not among the messages of a trace.
#[derive(Clone, Debug)]
pub(super) struct Stub {
    pub(super) id: TextId,
    pub(super) what: Absent,
}

/// Why it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// No such message was ever seen, or it is no longer kept.
    Missing,
    /// It is there, but not on this page.
    Elsewhere(u64),
    /// Several messages bear the id: sequence, sender, conversation.
    Ambiguous(Vec<(u64, TextId, Option<TextId>)>),
}

/// A message or a stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Node(u32),
    Stub(u32),
}

/// Children of every item, one after the other.
#[derive(Debug, Default)]
struct Children {
    first: Vec<u32>,
    all: Vec<u32>,
}

impl Trace {
    /// Puts everything that was gathered in its place.
    pub(super) fn grow(mut gather: Gather, next: Option<u64>) -> Self {
        let asked = gather.texts.keep(&gather.query().text.clone());
        let (causes, stubs) = causes(&gather);
        let (seed, related) = (gather.seed(), std::mem::take(&mut gather.related));
        // From the order of admission to the order of the journal, members only.
        let mut order: Vec<u32> = (0..gather.nodes.len() as u32).collect();
        order.retain(|at| node(&gather.nodes, *at).is_some_and(|node| node.is_member));
        order.sort_unstable_by_key(|at| node(&gather.nodes, *at).map(|node| node.sequence));
        let mut place = vec![u32::MAX; gather.nodes.len()];
        for (new, old) in order.iter().enumerate() {
            if let Some(slot) = place.get_mut(*old as usize) {
                *slot = new as u32;
            }
        }
        let new_place = |old: u32| place.get(old as usize).copied().unwrap_or(u32::MAX);
        let mut moved: Vec<Cause> = Vec::with_capacity(order.len());
        for old in &order {
            let cause = causes.get(*old as usize).cloned().unwrap_or(Cause::None);
            moved.push(match cause {
                Cause::Node(cause) => Cause::Node(new_place(cause)),
                other => other,
            });
        }
        break_circles(&mut moved);
        let texts = gather.texts;
        let mut nodes: Vec<Node> = gather
            .nodes
            .into_iter()
            .filter(|node| node.is_member)
            .collect();
        nodes.sort_unstable_by_key(|node| node.sequence);
        let (children, roots) = children(&moved, stubs.len());
        let mut deliveries = Vec::new();
        let mut first_delivery = Vec::with_capacity(nodes.len() + 1);
        for node in &nodes {
            first_delivery.push(deliveries.len());
            let mut places = node.places.to_vec();
            places.sort_unstable();
            deliveries.extend(places.into_iter().map(Delivery::new));
        }
        first_delivery.push(deliveries.len());
        Self {
            texts,
            asked,
            seed,
            nodes,
            causes: moved,
            stubs,
            children,
            roots,
            deliveries,
            first_delivery,
            names: BTreeMap::new(),
            related,
            next,
        }
    }

    /// The sequences of its messages, ascending.
    pub fn sequences(&self) -> impl Iterator<Item = u64> {
        self.nodes.iter().map(|node| node.sequence)
    }

    /// How many messages it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no message, as a page behind the last may.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Everything that a record says of its messages. Tell every record about them in journal order.
    pub fn happened(&mut self, record: &Record) {
        if let Record::SubscriptionRemoved { id } = record {
            self.removed(*id);
        }
        let Some((place, sequences)) = record.deliveries() else {
            return;
        };
        for sequence in sequences {
            if let Some(delivery) = self.delivery_mut(sequence, place) {
                delivery.happened(sequence, record);
            }
        }
    }

    fn removed(&mut self, place: PlaceId) {
        let open = self
            .deliveries
            .iter_mut()
            .filter(|delivery| delivery.place == place && delivery.is_open());
        open.for_each(|delivery| delivery.fate = Fate::Removed);
    }

    /// The places of its deliveries, each once.
    #[must_use]
    pub fn places(&self) -> Vec<PlaceId> {
        let mut places: Vec<PlaceId> = self
            .deliveries
            .iter()
            .map(|delivery| delivery.place)
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The name of a place; none when it is gone.
    pub fn name(&mut self, place: PlaceId, name: Option<PlaceName>) {
        if name.is_none() {
            self.removed(place);
        }
        self.names.insert(place, name);
    }

    /// Deliveries that are not over by their records, up to `max`: somebody may hold them.
    #[must_use]
    pub fn open(&self, max: usize) -> Vec<(u64, PlaceId)> {
        let of = |(at, node): (usize, &Node)| {
            let sequence = node.sequence;
            let deliveries = self.deliveries(at as u32).iter();
            let open = deliveries.filter(|delivery| delivery.is_open());
            open.map(move |delivery| (sequence, delivery.place))
                .collect::<Vec<_>>()
        };
        let all = self.nodes.iter().enumerate().flat_map(of);
        all.take(max).collect()
    }

    /// Where one of them stands this moment.
    pub fn stands(&mut self, sequence: u64, place: PlaceId, state: Option<&DeliveryState>) {
        if let Some(delivery) = self.delivery_mut(sequence, place) {
            delivery.stands(state);
        }
    }

    /// When this is a page and there is more: the sequence after which the next page begins.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.next
    }

    /// How many causes are named that nobody has seen.
    #[must_use]
    pub fn gaps(&self) -> usize {
        let is_missing = |stub: &&Stub| stub.what == Absent::Missing;
        self.stubs.iter().filter(is_missing).count()
    }

    pub(super) fn deliveries(&self, at: u32) -> &[Delivery] {
        let bound = |at: usize| self.first_delivery.get(at).copied();
        let range = bound(at as usize).zip(bound(at as usize + 1));
        range
            .and_then(|(first, end)| self.deliveries.get(first..end))
            .unwrap_or_default()
    }

    fn delivery_mut(&mut self, sequence: u64, place: PlaceId) -> Option<&mut Delivery> {
        let at = self
            .nodes
            .binary_search_by_key(&sequence, |node| node.sequence)
            .ok()?;
        let (first, end) = (
            self.first_delivery.get(at)?,
            self.first_delivery.get(at + 1)?,
        );
        let own = self.deliveries.get_mut(*first..*end)?;
        let at = own
            .binary_search_by_key(&place, |delivery| delivery.place)
            .ok()?;
        own.get_mut(at)
    }

    pub(super) fn node(&self, at: u32) -> Option<&Node> {
        self.nodes.get(at as usize)
    }

    pub(super) fn stub(&self, at: u32) -> Option<&Stub> {
        self.stubs.get(at as usize)
    }

    pub(super) fn cause(&self, at: u32) -> &Cause {
        self.causes.get(at as usize).unwrap_or(&Cause::None)
    }

    /// What an item caused.
    pub(super) fn children(&self, item: Item) -> &[u32] {
        self.children.of(match item {
            Item::Node(at) => at as usize,
            Item::Stub(at) => self.nodes.len() + at as usize,
        })
    }

    pub(super) fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    /// When the first message was accepted.
    pub(super) fn start(&self) -> Timestamp {
        self.nodes.first().map(|node| node.at).unwrap_or_default()
    }

    /// When the last was.
    pub(super) fn end(&self) -> Timestamp {
        let last = self.nodes.iter().map(|node| node.at).max();
        last.unwrap_or_default()
    }
}

impl Children {
    fn of(&self, at: usize) -> &[u32] {
        let bound = |at: usize| self.first.get(at).map(|first| *first as usize);
        let range = bound(at).zip(bound(at + 1));
        range
            .and_then(|(first, end)| self.all.get(first..end))
            .unwrap_or_default()
    }
}

fn node(nodes: &[Node], at: u32) -> Option<&Node> {
    nodes.get(at as usize)
}

/// The cause of every kept message, by its place in the order of admission.
fn causes(gather: &Gather) -> (Vec<Cause>, Vec<Stub>) {
    let mut stubs: Vec<Stub> = Vec::new();
    let mut known: HashMap<(TextId, Option<u64>), u32> = HashMap::new();
    let mut causes = Vec::with_capacity(gather.nodes.len());
    for child in &gather.nodes {
        let Some(id) = child.cause.filter(|_| child.is_member) else {
            causes.push(Cause::None);
            continue;
        };
        let what = match resolve(child, gather.bearers_of(id)) {
            Meaning::One(at) => match node(&gather.nodes, at) {
                Some(cause) if cause.is_member => {
                    causes.push(Cause::Node(at));
                    continue;
                }
                Some(cause) => Absent::Elsewhere(cause.sequence),
                None => Absent::Missing,
            },
            Meaning::Several(several) => {
                let several = several.into_iter();
                let bearers = several.filter_map(|at| node(&gather.nodes, at));
                let mut bearers: Vec<_> = bearers
                    .map(|one| (one.sequence, one.sender, one.conversation))
                    .collect();
                bearers.sort_unstable();
                Absent::Ambiguous(bearers)
            }
            Meaning::Nothing => Absent::Missing,
        };
        // One stub for all who mean the same.
        let key = match &what {
            Absent::Missing => (id, None),
            Absent::Elsewhere(sequence) => (id, Some(*sequence)),
            Absent::Ambiguous(several) => (id, several.iter().map(|(at, _, _)| *at).reduce(mix)),
        };
        let at = *known.entry(key).or_insert_with(|| {
            stubs.push(Stub { id, what });
            stubs.len() as u32 - 1
        });
        causes.push(Cause::Stub(at));
    }
    (causes, stubs)
}

/// Tells apart the sets of sequences that one id may mean.
fn mix(one: u64, other: u64) -> u64 {
    (one ^ other.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Ids may be named in a circle. Its oldest message is then shown without a cause.
fn break_circles(causes: &mut [Cause]) {
    /// Not looked at, on the way that is walked now, known to end.
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Now,
        Done,
    }
    let mut seen = vec![Seen::No; causes.len()];
    let mut way: Vec<usize> = Vec::new();
    for start in 0..causes.len() {
        let mut at = start;
        loop {
            match seen.get(at) {
                Some(Seen::No) => {}
                Some(Seen::Now) => {
                    // The circle is the end of the way, from `at` on.
                    let from = way.iter().position(|one| *one == at).unwrap_or(0);
                    let circle = way.get(from..).unwrap_or_default();
                    if let Some(oldest) = circle.iter().min().copied()
                        && let Some(cause) = causes.get_mut(oldest)
                        && let Cause::Node(named) = *cause
                    {
                        *cause = Cause::Circle(named);
                    }
                    break;
                }
                Some(Seen::Done) | None => break,
            }
            if let Some(mark) = seen.get_mut(at) {
                *mark = Seen::Now;
            }
            way.push(at);
            match causes.get(at) {
                Some(Cause::Node(cause)) => at = *cause as usize,
                _ => break,
            }
        }
        for walked in way.drain(..) {
            if let Some(mark) = seen.get_mut(walked) {
                *mark = Seen::Done;
            }
        }
    }
}

/// Children of every message and stub, and the roots, all in journal order. Linear: counted, then
/// filled.
fn children(causes: &[Cause], stubs: usize) -> (Children, Vec<Item>) {
    let count = causes.len();
    let item = |cause: &Cause| match cause {
        Cause::Node(at) => Some(*at as usize),
        Cause::Stub(at) => Some(count + *at as usize),
        Cause::None | Cause::Circle(_) => None,
    };
    let mut first = vec![0_u32; count + stubs + 1];
    for parent in causes.iter().filter_map(item) {
        if let Some(slot) = first.get_mut(parent + 1) {
            *slot += 1;
        }
    }
    let mut sum = 0;
    for slot in &mut first {
        sum += *slot;
        *slot = sum;
    }
    let mut next = first.clone();
    let mut all = vec![0_u32; sum as usize];
    let mut roots = Vec::new();
    let mut is_named = vec![false; stubs];
    for (at, cause) in causes.iter().enumerate() {
        match item(cause) {
            Some(parent) => {
                if let Some(slot) = next.get_mut(parent) {
                    if let Some(child) = all.get_mut(*slot as usize) {
                        *child = at as u32;
                    }
                    *slot += 1;
                }
            }
            None => roots.push(Item::Node(at as u32)),
        }
        if let Cause::Stub(stub) = cause
            && let Some(named) = is_named.get_mut(*stub as usize)
            && !std::mem::replace(named, true)
        {
            roots.push(Item::Stub(*stub));
        }
    }
    (Children { first, all }, roots)
}
