//! The reference surface: schemas, examples, verdicts, mock replies, fixtures, registries.

use interwire_protocol::dialect::uai::negotiate::EXCHANGE;
use interwire_protocol::dialect::uai::reference::{
    Ask, Form, body, conformance_levels, conformance_pack, error_registry, example, field_registry,
    judge, mock_exchange, profiles, registry, schema, trust_channels,
};
use interwire_protocol::{Code, Rules};
use serde_json::{Value, json};

use super::rows::examples;
use super::{edited, lenient, now, strict};

fn rules() -> Rules {
    Rules::at(now())
}

fn verdict(text: &str) -> Value {
    let verdict = judge(text.as_bytes(), Ask::default(), &rules()).unwrap();
    serde_json::from_str(&verdict.write()).unwrap()
}

fn example_of(profile: &str) -> String {
    example(profile).unwrap()
}

#[test]
fn every_profile_has_a_schema_and_an_example_that_is_valid_in_both_modes() {
    assert_eq!(profiles().count(), 18);
    for profile in profiles() {
        let text = example_of(profile);
        for reading in [strict(&text), lenient(&text)] {
            assert_eq!(reading.faults, [], "{profile}");
            if profile != "uai.conformance.result.v1" {
                assert_eq!(reading.warnings, [], "{profile}");
            }
        }
        let schema: Value = serde_json::from_str(&schema(profile).unwrap()).unwrap();
        assert_eq!(schema["properties"]["profile"]["const"], profile);
        assert_eq!(schema["required"].as_array().unwrap().len(), 12);
        let shape = &schema["properties"]["body"];
        let message: Value = serde_json::from_str(&text).unwrap();
        for member in message["body"].as_object().unwrap().keys() {
            assert!(shape["properties"].get(member).is_some(), "{member}");
        }
    }
    assert!(schema("uai.made.up.v1").is_none() && example("uai.made.up.v1").is_none());
}

/// The rules of every body (UAI 3): each required member is missed, each of another type is named.
#[test]
fn every_member_of_every_body_is_checked() {
    for profile in profiles() {
        let text = example_of(profile);
        let message: Value = serde_json::from_str(&text).unwrap();
        let present = message["body"].as_object().unwrap();
        for member in body(profile).unwrap() {
            let pointer = format!("/body/{}", member.name);
            let codes = |text: &str| -> Vec<(Code, String)> {
                let faults = strict(text).faults.into_iter();
                faults.map(|fault| (fault.code, fault.pointer)).collect()
            };
            if member.is_required {
                let without = edited(&text, &[(&pointer, "")]);
                let missed = (Code::MissingField, pointer.clone());
                assert!(codes(&without).contains(&missed), "{profile} {pointer}");
            }
            if present.contains_key(member.name) {
                let nulled = edited(&text, &[(&pointer, "null")]);
                let named = (Code::NullNotAllowed, pointer.clone());
                assert!(codes(&nulled).contains(&named), "{profile} {pointer}");
            }
            if !member.holds.starts_with("any value") {
                let other = match &*member.holds {
                    "true or false" => "\"yes\"",
                    _ => "true",
                };
                let spoiled = edited(&text, &[(&pointer, other)]);
                let is_named = codes(&spoiled).iter().any(|(_, at)| *at == pointer);
                let takes_bool = member.holds.contains("true or false, or");
                assert!(is_named || takes_bool, "{profile} {pointer}");
            }
        }
        let more = edited(&text, &[("/body/made_up", "1")]);
        let found: Vec<_> = strict(&more).faults.iter().map(|f| f.code).collect();
        assert_eq!(found, [Code::UndeclaredField], "{profile}");
        assert!(lenient(&more).is_valid(), "{profile}");
    }
}

#[test]
fn a_bare_message_and_a_wrapper_get_the_same_verdict() {
    let text = example_of("uai.agent.handoff.v1");
    let bare = verdict(&text);
    assert_eq!(bare["valid"], true);
    assert_eq!(bare["form"], "minified-keyed");
    assert_eq!(bare["field_order"], "ours-1");
    assert_eq!(bare["conformance_result"]["result"], "pass");
    assert_eq!(verdict(&format!("{{\"message\":{text}}}")), bare);
    let spaced = verdict(&format!("{{\"message\":{}}}", text.replacen('{', "{ ", 1)));
    assert_eq!(spaced["form"], "keyed");
    assert_eq!(spaced["canonical_hash"], bare["canonical_hash"]);
}

#[test]
fn a_wrapper_says_how_the_message_is_read() {
    let text = example_of("uai.agent.message.v1");
    let wrapped = |more: &str| verdict(&format!("{{\"message\":{text}{more}}}"));
    for (more, code, path) in [
        (r#","mode":"keyless""#, "type_mismatch", ""),
        (
            r#","expected_profile":"uai.error.v1""#,
            "enum_unknown",
            "/profile",
        ),
    ] {
        let verdict = wrapped(more);
        assert_eq!(verdict["valid"], false, "{verdict}");
        assert_eq!(verdict["issues"][0]["code"], code);
        assert_eq!(verdict["issues"][0]["path"], path);
        assert_eq!(verdict["conformance_result"]["result"], "fail");
    }
    for more in [
        r#","mode":"auto""#,
        r#","mode":"keyed""#,
        r#","mode":"minified-keyed""#,
        r#","strict":true,"now":"2026-07-01T12:00:00Z""#,
    ] {
        assert_eq!(wrapped(more)["valid"], true, "{more}");
    }
    let late = edited(
        &text,
        &[("/delivery/expires_at", "\"2026-08-01T00:00:00Z\"")],
    );
    let at = |now: &str| verdict(&format!("{{\"message\":{late},\"now\":\"{now}\"}}"));
    assert_eq!(at("2026-07-31T00:00:00Z")["valid"], true);
    let expired = at("2026-08-02T00:00:00Z");
    assert_eq!(expired["issues"][0]["code"], "message_expired");
    let broadcast = edited(&text, &[("/delivery/mode", "\"broadcast\"")]);
    let read = |is_strict: bool| {
        let verdict = verdict(&format!(
            "{{\"message\":{broadcast},\"strict\":{is_strict}}}"
        ));
        assert_eq!(verdict["strict"], is_strict);
        verdict["valid"].clone()
    };
    assert_eq!((read(true), read(false)), (json!(false), json!(true)));
}

#[test]
fn what_is_no_question_is_refused_by_name() {
    for (text, code, pointer) in [
        ("nonsense", Code::MalformedJson, ""),
        (
            r#"{"message":{},"message":{}}"#,
            Code::DuplicateKey,
            "/message",
        ),
        (r#"{"message":{},"strict":1}"#, Code::BadRequest, "/strict"),
        (
            r#"{"message":{},"mode":"short"}"#,
            Code::BadRequest,
            "/mode",
        ),
        (r#"{"message":{},"now":"today"}"#, Code::BadRequest, "/now"),
        (
            r#"{"message":{},"expected_profile":1}"#,
            Code::BadRequest,
            "/expected_profile",
        ),
        (r#"{"message":{},"a/b":1}"#, Code::BadRequest, "/a~1b"),
    ] {
        let refused = judge(text.as_bytes(), Ask::default(), &rules()).unwrap_err();
        assert_eq!(refused.code, code, "{text}");
        if code == Code::BadRequest {
            assert_eq!(refused.pointer, pointer, "{text}");
        }
    }
    for text in ["{}", "[]", "1", "null", "\"a\""] {
        assert_eq!(verdict(text)["valid"], false, "{text}");
    }
}

/// What is said of any message is itself a valid message.
#[test]
fn every_conformance_result_is_a_valid_body() {
    let Some(text) = examples() else { return };
    let sample = example_of("uai.conformance.result.v1");
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let said = verdict(&row["envelope"].to_string());
        let body = said["conformance_result"].to_string();
        let reading = strict(&edited(&sample, &[("/body", &body)]));
        assert_eq!(reading.faults, [], "{said}");
    }
}

#[test]
fn a_mock_reply_is_valid_links_to_its_request_and_is_the_same_each_time() {
    for profile in profiles() {
        let text = example_of(profile);
        let reply = || mock_exchange(text.as_bytes(), Ask::default(), &rules()).unwrap();
        let first = reply();
        assert_eq!(first, reply());
        let reading = strict(&first);
        assert_eq!(reading.faults, [], "{profile}");
        let request: Value = serde_json::from_str(&text).unwrap();
        let first: Value = serde_json::from_str(&first).unwrap();
        let expected = match profile {
            "uai.agent.message.v1" | "uai.agent.handoff.v1" => "uai.agent.ack.v1",
            "uai.intent.request.v1" => "uai.intent.response.v1",
            _ => "uai.conformance.result.v1",
        };
        assert_eq!(first["profile"], expected);
        let (asked, said) = (&request["conversation"], &first["conversation"]);
        assert_eq!(said["parent_message_id"], request["message_id"]);
        assert_eq!(said["conversation_id"], asked["conversation_id"]);
        assert_eq!(said["correlation_id"], asked["correlation_id"]);
        assert_eq!(first["source"], request["target"]);
        assert_eq!(first["target"], request["source"]);
    }
    let spoiled = example_of("uai.agent.ack.v1").replace("agt_binder", "agt_other");
    let refused = mock_exchange(spoiled.as_bytes(), Ask::default(), &rules()).unwrap_err();
    assert_eq!(refused.code(), Code::ChecksumMismatch);
}

/// Every form of every valid example has one canonical hash.
#[test]
fn every_fixture_of_the_pack_gets_the_verdict_it_names() {
    let pack: Value = serde_json::from_str(&conformance_pack().unwrap()).unwrap();
    let fixtures = pack["fixtures"].as_array().unwrap();
    assert_eq!(fixtures.len(), 18 * 3 + 7);
    for fixture in fixtures {
        let said = verdict(fixture["text"].as_str().unwrap());
        assert_eq!(said["valid"], fixture["valid"], "{fixture}: {said}");
        assert_eq!(said["form"], fixture["form"], "{fixture}");
        let issues = said["issues"].as_array().unwrap().iter();
        let mut codes: Vec<_> = issues
            .filter(|issue| issue["severity"] == "error")
            .map(|issue| issue["code"].clone())
            .collect();
        codes.sort_by_key(ToString::to_string);
        assert_eq!(json!(codes), fixture["expect"], "{fixture}");
        if fixture["valid"] == true {
            assert_eq!(said["canonical_hash"], fixture["canonical_hash"]);
        }
    }
}

#[test]
fn every_registry_is_a_document_that_leads_somewhere() {
    let registry: Value = serde_json::from_str(&registry("/uaix/v1")).unwrap();
    let listed = registry["profiles"].as_array().unwrap();
    assert_eq!(listed.len(), 18);
    for entry in listed {
        let id = entry["id"].as_str().unwrap();
        assert_eq!(entry["schema"], format!("/uaix/v1/schemas/{id}"));
        assert!(example(id).is_some());
    }
    assert_eq!(registry["forms"].as_array().unwrap().len(), Form::ALL.len());
    let order: Value = serde_json::from_str(&field_registry()).unwrap();
    assert!(order["compact_field_order_maps"]["envelope"].is_object());
    let channels: Value = serde_json::from_str(&trust_channels()).unwrap();
    assert_eq!(channels["trust_channels"][0]["channel"], "public-web");
    let codes: Value = serde_json::from_str(&error_registry()).unwrap();
    let codes: Vec<_> = codes["codes"].as_array().unwrap().clone();
    assert!(
        codes
            .iter()
            .any(|code| code["code"] == "missing_field" && code["status"] == 422)
    );
    assert!(
        codes
            .iter()
            .any(|code| code["code"] == "human_review_required")
    );
    let levels: Value = serde_json::from_str(&conformance_levels()).unwrap();
    assert_eq!(levels["conformance_levels"][5]["met"], false);
}

/// The table of `docs/uai.md`, from the tables that validate.
fn bodies() -> String {
    let mut out = String::from("\n| profile | body |\n|---|---|\n");
    for profile in profiles() {
        let members: Vec<String> = body(profile)
            .unwrap()
            .iter()
            .map(|member| match member.is_required {
                true => format!("**{}** {}", member.name, member.holds),
                false => format!("{} {}", member.name, member.holds),
            })
            .collect();
        out.push_str(&format!("| `{profile}` | {} |\n", members.join("; ")));
    }
    out
}

#[test]
fn the_page_lists_every_body_as_the_code_has_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/uai.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- bodies -->\n").unwrap();
    let (written, after) = rest.split_once("<!-- /bodies -->").unwrap();
    let expected = format!("{}\n", bodies());
    if std::env::var_os("UPDATE_PAGES").is_some() {
        let page = format!("{before}<!-- bodies -->\n{expected}<!-- /bodies -->{after}");
        std::fs::write(path, page).unwrap();
        return;
    }
    assert_eq!(written, expected, "UPDATE_PAGES=1 writes it");
}

#[test]
fn the_page_names_every_feature_and_form_of_the_exchange() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/uai.md");
    let page = std::fs::read_to_string(path).unwrap();
    for feature in EXCHANGE.features.iter().chain(EXCHANGE.forms) {
        assert!(page.contains(&format!("`{feature}`")), "{feature}");
    }
}
