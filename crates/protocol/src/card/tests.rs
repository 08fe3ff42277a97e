//! Cards read strictly, and go to A2A and back.

use super::Card;
use crate::{Code, Party, Rejection};

fn read(text: &str) -> Result<Card, Rejection> {
    Card::read(text.as_bytes(), 1 << 16)
}

const OURS: &str = r#"{
  "name": "Sentinel", "description": "Looks for open ports", "version": "2.1.0", "tags": ["security"],
  "skills": [{"id": "port-scan", "name": "Port scan", "tags": ["network"]}],
  "intents": ["ops.network.port.probe", {"intent": "quox.*", "task": {"type": "object"}}],
  "dialects": ["aee", "uai"], "profiles": ["uai.intent.request.v1"], "lease_ms": 15000
}"#;

#[test]
fn a_card_reads_back_from_its_document() {
    let card = read(OURS).unwrap();
    assert_eq!(&*card.name, "Sentinel");
    assert_eq!(card.lease_ms, Some(15_000));
    assert_eq!(Card::restore(card.document()).unwrap(), card);
    assert_eq!(read(&format!(" {OURS} ")).unwrap(), card);
}

#[test]
fn a_card_is_found_by_skill_tag_intent_and_words() {
    let card = read(OURS).unwrap();
    for word in ["port-scan", "PORT SCAN", "network"] {
        assert_eq!(card.skills_like(word).count(), 1, "{word}");
    }
    assert_eq!(card.skills_like("scan").count(), 0);
    assert!(card.has_tag("Security") && card.has_tag("network") && !card.has_tag("net"));
    assert!(card.takes("ops.network.port.probe") && card.takes("ops.*") && card.takes("quox.x.y"));
    assert!(!card.takes("ops.network") && !card.takes("ops") && !card.takes("quoxx.y"));
    assert!(card.mentions("OPEN sentinel") && !card.mentions("open closed"));
}

#[test]
fn every_fault_of_a_card_is_named_with_its_place() {
    let refused = read(
        r#"{"nam":"x","skills":[{"name":"a"},1],"dialects":["amp"],"lease_ms":5,"tags":[""],"endpoints":[{}]}"#,
    );
    let refused = refused.unwrap_err();
    let faults: Vec<(Code, &str)> = refused
        .all()
        .map(|fault| (fault.code, &*fault.pointer))
        .collect();
    for fault in [
        (Code::UndeclaredField, "/nam"),
        (Code::MissingField, "/skills/0/id"),
        (Code::TypeMismatch, "/skills/1"),
        (Code::EnumUnknown, "/dialects/0"),
        (Code::OutOfRange, "/lease_ms"),
        (Code::TooShort, "/tags/0"),
        (Code::MissingField, "/endpoints/0/url"),
    ] {
        assert!(faults.contains(&fault), "{fault:?} in {faults:?}");
    }
    assert_eq!(read("[]").unwrap_err().code(), Code::TypeMismatch);
    assert_eq!(
        Card::read(OURS.as_bytes(), 10).unwrap_err().code(),
        Code::TooLarge
    );
}

#[test]
fn an_a2a_card_of_version_1_comes_back_as_it_was() {
    let text = r#"{"name":"Recipes","description":"Cooks","version":"1.0.0","supportedInterfaces":[{"url":"https://example.org/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true,"extensions":[{"uri":"urn:uai:a2a-ext:uai-1","params":{"agent_id":"cook","profiles":["uai.agent.message.v1"],"features":["form.keyless"]}}]},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"cook","name":"Cook","description":"d","tags":["food"]}],"signatures":[{"protected":"e30","signature":"AA"}]}"#;
    let card = read(text).unwrap();
    assert_eq!(card.skills_like("food").count(), 1);
    assert_eq!(&*card.profiles, ["uai.agent.message.v1".into()]);
    assert_eq!(&*card.features, ["form.keyless".into()]);
    let out: serde_json::Value =
        serde_json::from_str(&card.to_a2a(&Party::parse("agent.cook"), &[])).unwrap();
    let given: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(out, given);
}

#[test]
fn an_a2a_card_of_version_0_3_is_brought_up_to_version_1() {
    let text = r#"{"protocolVersion":"0.3.0","name":"Recipes","description":"Cooks","version":"1.0.0","url":"https://example.org/a2a","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"https://example.org/rest","transport":"HTTP+JSON"}],"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"cook","name":"Cook","description":"d","tags":["food"]}]}"#;
    let card = read(text).unwrap();
    let out: serde_json::Value =
        serde_json::from_str(&card.to_a2a(&Party::parse("agent.cook"), &[])).unwrap();
    assert_eq!(
        out["supportedInterfaces"][0]["url"],
        "https://example.org/a2a"
    );
    assert_eq!(
        out["supportedInterfaces"][1]["protocolBinding"],
        "HTTP+JSON"
    );
    assert_eq!(out["defaultInputModes"][0], "text/plain");
    assert_eq!(out["capabilities"]["streaming"], true);
    assert_eq!(out["skills"][0]["tags"][0], "food");
    assert!(out.get("url").is_none() && out.get("protocolVersion").is_none());
}

#[test]
fn our_card_is_written_as_an_a2a_card_that_reads_as_one() {
    let card = read(OURS).unwrap();
    let party = Party::parse("agent.sentinel");
    let text = card.to_a2a(&party, &[("http://127.0.0.1:4747".into(), "HTTP+JSON")]);
    let out: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(out["skills"][0]["id"], "port-scan");
    assert_eq!(out["skills"][1]["id"], "ops.network.port.probe");
    assert_eq!(out["supportedInterfaces"][0]["protocolVersion"], "1.0");
    let again = read(&text).unwrap();
    assert_eq!(again.skills[0], card.skills[0]);
    assert_eq!(again.profiles, card.profiles);
}

#[test]
fn no_card_of_any_shape_panics() {
    for text in [
        "{}",
        "null",
        "1",
        r#"{"url":1,"capabilities":2}"#,
        r#"{"supportedInterfaces":3}"#,
        r#"{"supportedInterfaces":[4],"name":"x","skills":5}"#,
        r#"{"a2a":{"supportedInterfaces":6}}"#,
    ] {
        if let Ok(card) = read(text) {
            let _ = card.to_a2a(&Party::parse("x"), &[]);
        }
    }
}
