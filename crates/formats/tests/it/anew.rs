//! Writing in a framework's form what never came from there, and from one framework into another.

use super::vectors::all;
use super::{json, slices};
use interwire_formats::{Format, Options, read, unwrap, wrap, write_anew};
use protocol::dialect::aee::Aee;
use protocol::{Rules, Timestamp, decode};
use serde_json::json;

const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);

#[test]
fn the_reply_of_an_agent_is_the_result_of_the_call_that_was_wrapped() {
    let completion = all().remove(0).document;
    let tasks = wrap(completion.as_bytes(), None, &Options::default()).unwrap();
    let mut replies = Vec::new();
    for (number, task) in tasks
        .iter()
        .filter(|one| one.contains(r#""type":"task""#))
        .enumerate()
    {
        let header = decode(task.as_bytes(), &Rules::at(NOW)).header.unwrap();
        replies.push(if number == 0 {
            Aee::result_of(&header)
                .payload_json(r#"{"degrees":21.5}"#)
                .build("reply-001", NOW)
        } else {
            Aee::error_of(&header, "E_FAILED", "no such cluster").build("reply-002", NOW)
        });
    }
    let written = |format| json(&unwrap(&slices(&replies), Some(format)).unwrap()[0]);
    assert_eq!(
        written(Format::OpenAi),
        json!([
            {"role": "tool", "tool_call_id": "call_weather0123456789", "content": "{\"degrees\":21.5}"},
            {"role": "tool", "tool_call_id": "call_backup01234567890", "content": "no such cluster"}
        ])
    );
    assert_eq!(
        written(Format::Anthropic),
        json!([{"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_weather0123456789", "content": "{\"degrees\":21.5}"},
            {"type": "tool_result", "tool_use_id": "call_backup01234567890", "content": "no such cluster", "is_error": true}
        ]}])
    );
    assert_eq!(
        written(Format::Google)[0]["parts"][1]["functionResponse"],
        json!({"id": "call_backup01234567890", "name": "ops__backup__check", "response": {"error": "no such cluster"}})
    );
    assert_eq!(
        written(Format::LangChain)[0]["data"]["tool_call_id"],
        "call_weather0123456789"
    );
    assert_eq!(written(Format::AutoGen)[1]["content"][0]["is_error"], true);
    let refused = unwrap(&slices(&replies), None).unwrap_err();
    assert_eq!(refused.code().as_str(), "not_translatable");
}

#[test]
fn a_task_that_was_never_wrapped_is_a_call_in_every_dialect() {
    let task = Aee::task("human.adam", "agent.b", "ops.backup.check")
        .payload_json(r#"{"cluster":"a"}"#)
        .build("01JFX7K2M4N8P1Q3R5S7T9V0W2", NOW);
    let aep = protocol::translate::translate(task.as_bytes(), protocol::DialectName::Aep).unwrap();
    for text in [task, aep] {
        let back = unwrap(&[text.as_bytes()], Some(Format::Anthropic)).unwrap();
        let back = json(&back[0]);
        assert_eq!(back[0]["content"][0]["name"], "ops__backup__check");
        assert_eq!(back[0]["content"][0]["input"]["cluster"], "a");
        assert_eq!(back[0]["content"][0]["id"], "01JFX7K2M4N8P1Q3R5S7T9V0W2");
    }
}

#[test]
fn every_document_can_be_written_in_every_other_form_and_read_there() {
    for vector in all() {
        let envelopes = wrap(vector.document.as_bytes(), None, &Options::default()).unwrap();
        let count = |kind: &str| {
            let is_it = |one: &&String| json(one)["type"] == kind;
            envelopes.iter().filter(is_it).count()
        };
        for format in Format::ALL {
            let Ok(text) = write_anew(&slices(&envelopes), format) else {
                assert_eq!(format, Format::CrewAi, "{}", vector.name);
                continue;
            };
            // What only declares tools says nothing.
            if !text.contains('{') || text == r#"{"messages":[]}"# {
                continue;
            }
            let reading = read(text.as_bytes(), Some(format)).unwrap();
            let calls = reading
                .items
                .iter()
                .filter(|item| matches!(item.kind, interwire_formats::Kind::Call { .. }));
            if format != Format::CrewAi {
                assert_eq!(
                    calls.count(),
                    count("task"),
                    "{} as {}",
                    vector.name,
                    format.as_str()
                );
            }
            let other = unwrap(&slices(&envelopes), Some(format)).unwrap();
            assert_eq!(other.len(), 1);
        }
    }
}
