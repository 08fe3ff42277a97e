//! Declarations of tools as cards.

use super::json;
use interwire_formats::card;
use protocol::Card;
use serde_json::json;

#[test]
fn declared_tools_are_skills_and_intents_with_schemas() {
    let google = json!({"functionDeclarations": [
        {"name": "get_weather", "description": "The weather of a city", "parameters": {
            "type": "OBJECT", "required": ["city"], "propertyOrdering": ["city"],
            "properties": {"city": {"type": "STRING", "nullable": true, "min_length": "2"},
                           "days": {"anyOf": [{"type": "INTEGER"}], "type": "TYPE_UNSPECIFIED"}}}},
        {"name": "ops.backup.check", "parametersJsonSchema": {"type": "object", "additionalProperties": false}}]});
    let openai = json!({"tools": [
        {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}},
        {"type": "function", "name": "flat", "parameters": {"type": "object"}}, {"type": "web_search"}]});
    let anthropic = json!([{"name": "get_weather", "input_schema": {"type": "object"}}]);
    let text = card(google.to_string().as_bytes(), "weather").unwrap();
    let read = Card::read(text.as_bytes(), 1 << 20).unwrap();
    assert!(read.takes("tool.get_weather") && read.takes("ops.backup.check"));
    let document = json(&text);
    assert_eq!(document["name"], "weather");
    assert_eq!(
        document["intents"][0]["task"],
        json!({"type": "object", "required": ["city"], "properties": {
            "city": {"type": ["string", "null"], "minLength": 2}, "days": {"anyOf": [{"type": "integer"}]}}})
    );
    assert_eq!(
        document["intents"][1]["task"],
        json!({"type": "object", "additionalProperties": false, "properties": {"interwire_format": {}}})
    );
    let document = json(&card(openai.to_string().as_bytes(), "weather").unwrap());
    assert_eq!(document["intents"][1]["intent"], "tool.flat");
    assert_eq!(
        document["skills"][0]["description"],
        "The weather of a city"
    );
    let document = json(&card(anthropic.to_string().as_bytes(), "weather").unwrap());
    assert_eq!(document["intents"][0]["task"], json!({"type": "object"}));
}

#[test]
fn what_declares_nothing_has_no_card() {
    for text in ["{}", "[]", r#"{"tools":[{"type":"web_search"}]}"#] {
        assert_eq!(
            card(text.as_bytes(), "x").unwrap_err().code().as_str(),
            "missing_field"
        );
    }
    assert_eq!(card(b"[7]", "x").unwrap_err().first().pointer, "/0");
}
