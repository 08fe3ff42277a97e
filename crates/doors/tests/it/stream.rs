//! Server-sent events: priming, resuming, control events.

use crate::world::{World, aee};

#[tokio::test]
async fn even_a_quiet_reader_holds_a_cursor() {
    let world = World::start().await;
    let cursors = world.publish_many(2).await;
    let mut events = world.stream("/v1/stream", &[]).await;
    let primer = events.next().await.unwrap();
    assert!(primer.comment.is_some() && primer.data.is_none());
    assert_eq!(primer.id.as_ref(), cursors.last());
    let caught_up = events.event().await;
    assert_eq!(caught_up.name.as_deref(), Some("caught_up"));
    world.publish(&aee("m-3", "agent.b", "{}")).await;
    let message = events.event().await;
    assert_eq!(message.name, None);
    assert!(message.data.unwrap().contains("\"m-3\""));
    drop(events);
    world.stop().await;
}

#[tokio::test]
async fn a_reader_resumes_after_its_last_event() {
    // Ten events, four were seen, three of the rest come while the reader is away.
    let world = World::start().await;
    let mut cursors = world.publish_many(7).await;
    let mut events = world.stream("/v1/stream?from=earliest", &[]).await;
    let mut last = String::new();
    for cursor in cursors.iter().take(4) {
        last = events.event().await.id.unwrap();
        assert_eq!(last, *cursor);
    }
    drop(events);
    for number in 8..=10 {
        let receipt = world
            .publish(&aee(&format!("m-{number}"), "agent.b", "{}"))
            .await;
        cursors.push(receipt["cursor"].as_str().unwrap().to_owned());
    }
    let by_envelope = "m-4".to_owned();
    for id in [&last, &by_envelope] {
        // The address still says where the reader first began; what it saw last wins.
        let headers = [("last-event-id", id.as_str())];
        let mut events = world.stream("/v1/stream?from=earliest", &headers).await;
        for cursor in &cursors[4..] {
            assert_eq!(events.event().await.id.as_ref(), Some(cursor));
        }
        assert_eq!(events.event().await.name.as_deref(), Some("caught_up"));
    }
    world.stop().await;
}

#[tokio::test]
async fn a_bad_cursor_is_named_and_never_a_replay() {
    let world = World::start().await;
    let cursor = world.publish_many(1).await.remove(0);
    world
        .get("/v1/stream?from=nonsense")
        .await
        .refuses(400, "cursor_unknown");
    let request = world
        .client
        .get(world.url("/v1/stream"))
        .header("last-event-id", "nonsense");
    let answer = crate::world::Answer::of(request.send().await.unwrap()).await;
    answer.refuses(400, "cursor_unknown");
    let other = {
        let broker = broker::Broker::open(broker::Settings::default(), 8).unwrap();
        let head = broker.handle().head().to_string();
        broker.close().await;
        head
    };
    assert_ne!(other, cursor);
    world
        .get(&format!("/v1/stream?from={other}"))
        .await
        .refuses(404, "cursor_foreign");
    world
        .get(&format!("/v1/messages?from={other}"))
        .await
        .refuses(404, "cursor_foreign");
    world.stop().await;
}

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

#[tokio::test]
async fn a_silent_stream_is_kept_alive() {
    let http = interwire_doors::http::HttpSettings {
        keep_alive_ms: 5,
        ..Default::default()
    };
    let world = World::with(broker::Settings::default(), http).await;
    let mut events = world.stream("/v1/stream", &[]).await;
    let mut comments = 0;
    while comments < 3 {
        let event = events.next().await.unwrap();
        comments += usize::from(event.comment.as_deref() == Some("keep-alive"));
    }
    drop(events);
    world.stop().await;
}
