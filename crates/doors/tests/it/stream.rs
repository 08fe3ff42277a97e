//! Server-sent events: priming, resuming, control events.

use crate::world::{World, aee};

#[tokio::test]
async fn a_filter_and_a_time_choose_what_is_read() {
    let world = World::start().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    world.publish(&aee("m-2", "agent.c", "{}")).await;
    let mut events = world
        .stream("/v1/stream?from=2020-01-01T00:00:00Z&target=agent.c", &[])
        .await;
    assert!(events.event().await.data.unwrap().contains("\"m-2\""));
    let caught_up = events.event().await;
    assert_eq!(caught_up.name.as_deref(), Some("caught_up"));
    assert_eq!(caught_up.id, Some(world.handle.head().to_string()));
    world
        .get("/v1/stream?colour=red")
        .await
        .refuses(422, "filter_malformed");
    drop(events);
    world.stop().await;
}

#[tokio::test]
async fn many_readers_see_the_same_order() {
    let world = World::start().await;
    let mut readers = Vec::new();
    for _ in 0..8 {
        readers.push(world.stream("/v1/stream?from=earliest", &[]).await);
    }
    let cursors = world.publish_many(100).await;
    for mut events in readers {
        let mut seen = Vec::new();
        while seen.len() < cursors.len() {
            let event = events.event().await;
            if event.name.is_none() {
                seen.push(event.id.unwrap());
            }
        }
        assert_eq!(seen, cursors);
    }
    world.stop().await;
}
