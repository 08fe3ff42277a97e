//! Live channels.

use crate::world::{Message, World, filter};

#[test]
fn equal_filters_share_a_channel_until_the_last_reader_leaves() {
    let mut world = World::new();
    let one = world
        .exchange
        .listen(filter([("type", "agent.*"), ("target", "agent:b")]));
    let other = world
        .exchange
        .listen(filter([("target", "agent.b"), ("types", "agent.*")]));
    assert_eq!(one, other);
    world.exchange.unlisten(one);
    assert_eq!(
        world.publish(Message::new("m1", &["agent:b"])).channels,
        [one]
    );
    world.exchange.unlisten(one);
    world.exchange.unlisten(one);
    assert_eq!(world.publish(Message::new("m2", &["agent:b"])).channels, []);
    assert_eq!(world.exchange.counts().channels, 0);
}

#[test]
fn a_channel_hears_only_what_its_filter_wants() {
    let mut world = World::new();
    let all = world.exchange.listen(filter([]));
    let tasks = world.exchange.listen(filter([("type", "task.*")]));
    assert_eq!(
        world.publish(Message::new("m1", &["agent:b"])).channels,
        [all]
    );
    let task = Message::new("m2", &[]).with(|header| header.kind = "task.progress".into());
    assert_eq!(world.publish(task).channels, [all, tasks]);
}
