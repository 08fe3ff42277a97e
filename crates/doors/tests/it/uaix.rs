//! The reference surface of UAI-1, as an HTTP client meets it.

use crate::world::{Answer, World, within};
use broker::Settings;
use interwire_doors::http::{HttpSettings, ROUTES};
use protocol::dialect::uai::keyless;
use protocol::json::{Limits, read};
use protocol::{DialectName, Mode, Rules, Timestamp, dialect};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The clock of the recorded rows.
const NOW: &str = "2026-07-01T12:00:00Z";

/// The recorded rows, where they are.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn rows() -> Vec<(Value, Value)> {
    let folder = match std::env::var_os("INTERWIRE_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let text = ["data/uai", "uai"]
        .iter()
        .find_map(|uai| std::fs::read_to_string(folder.join(uai).join("uai-examples.ndjson")).ok());
    let Some(text) = text else {
        println!(
            "skipped: no shared conformance data at {}",
            folder.display()
        );
        return Vec::new();
    };
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        (row["envelope"].clone(), row["notes"].clone())
    };
    text.lines().map(row).collect()
}

impl Answer {
    /// Checks that this is a problem document as UAI 6.1 has it.
    fn refuses_as_uai(&self, status: u16, code: &str, path: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.header("cache-control"), "no-store");
        assert!(!self.header("interwire-request-id").is_empty());
        let problem = self.json();
        assert_eq!(
            problem["type"],
            format!("urn:uai:error:{code}"),
            "{problem}"
        );
        assert_eq!(problem["code"], code);
        assert_eq!(problem["status"], status);
        assert_eq!(problem["instance"], path);
        assert_eq!(problem["errors"][0]["code"], code);
        for member in ["path", "detail"] {
            assert!(problem["errors"][0][member].is_string(), "{problem}");
        }
        problem
    }
}

/// The codes of the library's verdict: faults, then warnings.
fn by_library(text: &str, mode: Mode) -> (bool, Vec<(String, String)>) {
    let (now, _) = Timestamp::parse_rfc3339(NOW).unwrap();
    let rules = Rules::at(now).mode(mode);
    let reading = dialect::decode_as(text.as_bytes(), DialectName::Uai, &rules);
    let is_valid = reading.is_valid();
    // A message that is UAI-1 by its looks gets the same verdict when nobody says that it is.
    assert_eq!(
        protocol::decode(text.as_bytes(), &rules).is_valid(),
        is_valid
    );
    let all = reading.faults.iter().chain(&reading.warnings);
    let found = all.map(|fault| (fault.code.as_str().to_owned(), fault.pointer.clone()));
    (is_valid, found.collect())
}

fn issues(verdict: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let issues = verdict["issues"].as_array().unwrap().iter();
    issues
        .map(|issue| (text(&issue["code"]), text(&issue["path"])))
        .collect()
}

#[tokio::test]
async fn every_recorded_row_gets_the_librarys_verdict_in_both_modes() {
    let world = World::start().await;
    let (mut judged, mut valid) = (0, [0, 0]);
    for (number, (envelope, notes)) in rows().into_iter().enumerate() {
        let text = envelope.to_string();
        for (at, (mode, is_strict)) in [(Mode::Lenient, false), (Mode::Strict, true)]
            .into_iter()
            .enumerate()
        {
            let path = format!("/uaix/v1/validate?strict={is_strict}&now={NOW}");
            let bare = world.post(&path, "application/json", text.clone()).await;
            assert_eq!(bare.status, 200, "{}", bare.text());
            let bare = bare.json();
            let wrapper = json!({ "message": envelope, "strict": is_strict, "now": NOW });
            let media = "application/uai+json";
            let wrapped = world.post("/uaix/v1/validate", media, wrapper.to_string());
            assert_eq!(wrapped.await.json(), bare);
            let (is_valid, expected) = by_library(&text, mode);
            assert_eq!(bare["valid"], is_valid, "row {number}: {bare}");
            assert_eq!(issues(&bare), expected, "row {number}");
            assert_eq!(bare["strict"], is_strict);
            if notes["canonical_hash"].is_string() {
                assert_eq!(bare["canonical_hash"], notes["canonical_hash"], "{number}");
            }
            valid[at] += usize::from(is_valid);
            if (notes["strict"] == true) == is_strict {
                assert_eq!(bare["valid"], notes["valid"], "row {number}");
            }
            judged += 1;
        }
    }
    assert!(
        judged == 0 || (judged == 98 && valid == [28, 23]),
        "{judged} {valid:?}"
    );
    world.stop().await;
}

/// UAI 2 F7, over HTTP: every form of every valid row and of every example.
#[tokio::test]
async fn every_form_of_every_valid_message_has_one_canonical_hash() {
    let world = World::start().await;
    let mut keyed: Vec<String> = Vec::new();
    for (envelope, notes) in rows() {
        if notes["valid"] == true && envelope.is_object() {
            keyed.push(envelope.to_string());
        }
    }
    for profile in profiles(&world).await {
        keyed.push(example(&world, &profile).await.text());
    }
    for text in keyed {
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        let spaced =
            serde_json::to_string_pretty(&serde_json::from_str::<Value>(&text).unwrap()).unwrap();
        let positional = keyless::to_keyless(document.root()).unwrap();
        let mut hashes = Vec::new();
        for (form, text) in [
            ("minified-keyed", text.clone()),
            ("keyed", spaced),
            ("keyless", positional),
        ] {
            let path = format!("/uaix/v1/validate?now={NOW}&mode={form}");
            let verdict = world.post(&path, "", text).await.json();
            assert_eq!(verdict["valid"], true, "{verdict}");
            assert_eq!(verdict["form"], form);
            hashes.push(verdict["canonical_hash"].clone());
        }
        assert!(hashes[0].is_string());
        assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
    }
    world.stop().await;
}

async fn profiles(world: &World) -> Vec<String> {
    let registry = world.get("/uaix/v1/registry").await.json();
    let listed = registry["profiles"].as_array().unwrap().iter();
    listed
        .map(|profile| profile["id"].as_str().unwrap().to_owned())
        .collect()
}

async fn example(world: &World, profile: &str) -> Answer {
    let answer = world.get(&format!("/uaix/v1/examples/{profile}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap()
}

/// A schema takes every example of its profile and every recorded row that strict mode takes; what it
/// refuses, strict mode refuses.
#[tokio::test]
async fn schemas_agree_with_the_strict_reader() {
    let world = World::start().await;
    let mut refused = 0;
    for profile in profiles(&world).await {
        let answer = world.get(&format!("/uaix/v1/schemas/{profile}")).await;
        assert_eq!(answer.header("content-type"), "application/schema+json");
        let schema = answer.json();
        assert!(jsonschema::meta::is_valid(&schema), "{profile}");
        let schema = validator(&schema);
        let own = example(&world, &profile).await.json();
        assert!(schema.is_valid(&own), "{profile}");
        let mut spoiled = own.clone();
        spoiled["body"]["made_up"] = json!(1);
        assert!(!schema.is_valid(&spoiled), "{profile}");
        for (envelope, _) in rows() {
            if envelope["profile"] != profile.as_str() || !envelope.is_object() {
                continue;
            }
            let (is_valid, found) = by_library(&envelope.to_string(), Mode::Strict);
            let takes = schema.is_valid(&envelope);
            assert!(takes || !is_valid, "{profile}: {envelope}");
            refused += usize::from(!takes);
            let is_of_shape = |code: &str| {
                [
                    "undeclared_field",
                    "missing_field",
                    "timestamp_not_utc",
                    "correlation_id_missing",
                    "fallback_directive_missing",
                    "delivery_mode_unknown",
                ]
                .contains(&code)
            };
            if found.iter().any(|(code, _)| is_of_shape(code)) {
                assert!(!takes, "{found:?} {envelope}");
            }
        }
    }
    assert!(refused > 0 || rows().is_empty());
    world.stop().await;
}

#[tokio::test]
async fn every_route_of_the_surface_answers_and_is_listed() {
    let world = World::start().await;
    let manifest = world.get("/uaix/v1/discovery").await.json();
    let listed: Vec<_> = manifest["routes"].as_array().unwrap().clone();
    let own = || {
        ROUTES
            .iter()
            .filter(|route| route.path.starts_with("/uaix/v1"))
    };
    assert_eq!(listed.len(), own().count());
    let catalog = world.get("/uaix/v1/catalog").await.json();
    for (route, line) in own().zip(&listed) {
        assert_eq!(line["path"], route.path);
        assert_eq!(line["method"], route.verb.as_str());
        let name = route.path.split('/').nth(3).unwrap();
        assert_eq!(catalog["links"][name], route.path);
        let path = route.path.replace("{profile}", "uai.error.v1");
        let options = world
            .client
            .request(reqwest::Method::OPTIONS, world.url(&path));
        let options = Answer::of(within(options.send()).await.unwrap()).await;
        assert_eq!(options.status, 204);
        if line["method"] == "POST" {
            assert_eq!(options.header("allow"), "POST, OPTIONS");
            let method = "method_not_allowed";
            world.get(&path).await.refuses_as_uai(405, method, &path);
            continue;
        }
        assert_eq!(options.header("allow"), "GET, HEAD, OPTIONS");
        let whole = world.get(&path).await;
        assert_eq!(whole.status, 200, "{path}");
        assert!(whole.json().is_object(), "{path}");
        let head = within(world.client.head(world.url(&path)).send())
            .await
            .unwrap();
        let head = Answer::of(head).await;
        assert_eq!(head.status, 200);
        assert!(head.body.is_empty());
        assert_eq!(head.header("content-type"), whole.header("content-type"));
        assert_eq!(head.header("content-length"), whole.body.len().to_string());
    }
    world.stop().await;
}

#[tokio::test]
async fn the_media_type_of_messages_is_given_to_who_asks_for_it() {
    let world = World::start().await;
    let get = async |accept: &str| {
        let request = world
            .client
            .get(world.url("/uaix/v1/examples/uai.error.v1"));
        let answer = within(request.header("accept", accept).send())
            .await
            .unwrap();
        Answer::of(answer).await
    };
    for (accept, media) in [
        ("application/uai+json", "application/uai+json"),
        (
            "text/html, application/uai+json;q=0.5",
            "application/uai+json",
        ),
        ("*/*", "application/json"),
    ] {
        let answer = get(accept).await;
        assert_eq!(answer.header("content-type"), media);
        assert_eq!(answer.header("vary"), "accept");
    }
    let text = get("*/*").await.body;
    let request = world.client.post(world.url("/uaix/v1/mock-exchange"));
    let request = request
        .header("content-type", "application/uai+json")
        .header("accept", "application/uai+json")
        .body(text);
    let reply = Answer::of(within(request.send()).await.unwrap()).await;
    assert_eq!(reply.header("content-type"), "application/uai+json");
    assert_eq!(reply.json()["profile"], "uai.conformance.result.v1");
    world.stop().await;
}

#[tokio::test]
async fn a_mock_reply_passes_the_validator_and_nothing_is_published() {
    let world = World::start().await;
    let handoff = example(&world, "uai.agent.handoff.v1").await.text();
    let path = "/uaix/v1/mock-exchange";
    let reply = world.post(path, "application/json", handoff.clone()).await;
    let again = world.post(path, "application/json", handoff.clone()).await;
    assert_eq!(
        reply.body, again.body,
        "the same bytes for the same request"
    );
    assert_eq!(reply.json()["body"]["ack_for_message_id"], "msg_example_12");
    let judged = "/uaix/v1/validate?strict=true&expected_profile=uai.agent.ack.v1";
    let verdict = world.post(judged, "", reply.body).await.json();
    assert_eq!(verdict["valid"], true, "{verdict}");
    let spoiled = handoff.replace("Sew the pages.", "Burn the pages.");
    let refused = world.post(path, "", spoiled).await;
    refused.refuses_as_uai(422, "checksum_mismatch", path);
    world
        .get("/v1/messages/msg_example_12")
        .await
        .refuses(404, "not_found");
    world.stop().await;
}

#[tokio::test]
async fn what_cannot_be_answered_is_a_problem_in_uai_1s_own_words() {
    let world = World::start().await;
    let path = "/uaix/v1/validate";
    let post = async |query: &str, media: &str, body: &str| {
        world.post(&format!("{path}{query}"), media, body).await
    };
    let nonsense = post("", "", "nonsense").await;
    nonsense.refuses_as_uai(400, "malformed_json", path);
    let twice = post("", "", r#"{"a":1,"a":2}"#).await;
    twice.refuses_as_uai(400, "duplicate_key", path);
    let wrapper = post("", "", r#"{"message":{},"strict":"yes"}"#).await;
    let problem = wrapper.refuses_as_uai(400, "bad_request", path);
    assert_eq!(problem["errors"][0]["path"], "/strict");
    let text = post("", "text/plain", "{}").await;
    text.refuses_as_uai(415, "unsupported_media_type", path);
    let lines = post("", "application/x-ndjson", "{}").await;
    lines.refuses_as_uai(415, "unsupported_media_type", path);
    for query in ["?strict=1", "?mode=short", "?now=noon", "?dialect=aee"] {
        let refused = post(query, "", "{}").await;
        refused.refuses_as_uai(400, "bad_request", path);
    }
    let large = format!("\"{}\"", "a".repeat(256 << 10));
    let large = post("", "", &large).await;
    large.refuses_as_uai(413, "payload_too_large", path);
    for path in [
        "/uaix/v1/schemas/uai.made.up.v1",
        "/uaix/v1/examples/uai.made.up.v1",
    ] {
        let absent = world.get(path).await;
        absent.refuses_as_uai(404, "not_found", path);
    }
    let absent = world.get("/uaix/v1/nowhere").await;
    absent.refuses_as_uai(404, "route_not_found", "/uaix/v1/nowhere");
    let query = world.get("/uaix/v1/registry?all=1").await;
    query.refuses_as_uai(400, "bad_request", "/uaix/v1/registry");
    world
        .get("/uaix/v2/registry")
        .await
        .refuses(404, "route_not_found");
    world.stop().await;
}

#[tokio::test]
async fn the_surface_is_below_wp_json_only_when_that_is_set() {
    let path = "/wp-json/uaix/v1/registry";
    let world = World::start().await;
    world
        .get(path)
        .await
        .refuses_as_uai(404, "route_not_found", path);
    world.stop().await;
    let http = HttpSettings {
        uai_wp_json: true,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let registry = world.get(path).await.json();
    let link = registry["profiles"][0]["schema"].as_str().unwrap();
    assert_eq!(link, "/wp-json/uaix/v1/schemas/uai.intent.request.v1");
    assert_eq!(world.get(link).await.status, 200);
    let catalog = world.get("/wp-json/uaix/v1/catalog").await.json();
    assert_eq!(catalog["links"]["validate"], "/wp-json/uaix/v1/validate");
    let verdict = world.post("/wp-json/uaix/v1/validate", "", "{}").await;
    assert_eq!(verdict.json()["valid"], false);
    assert_eq!(world.get("/uaix/v1/registry").await.status, 200);
    world.stop().await;
}
