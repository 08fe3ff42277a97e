//! What is known here, as documents: profiles, extensions, channels, codes, levels.
//!
//! The real UAIX registries cannot be read, so these say what this build does, and which words are public.
//! No document claims a certification; that claim is itself a fault (UAI 6.2). Implements UAI 1.8, 5, 6.1,
//! 6.3 and 7.

use super::super::body::{self, PROFILES};
use super::super::build::{Object, list, texts};
use super::super::form::Form;
use super::super::negotiate::EXCHANGE;
use super::super::{TABLE_VERSION, VERSION, extension, words};
use crate::Code;
use crate::fault::Class;

/// Profiles that were published first (UAI 3).
const CORE: usize = 6;

/// `/registry`: profiles, forms, modes, extensions, features.
pub(super) fn registry(base: &str) -> String {
    let profile = |(at, profile): (usize, &body::Profile)| {
        let id = profile.id;
        let family = if at < CORE {
            "core"
        } else if id.starts_with("uai.agent.") {
            "agent"
        } else {
            "capability"
        };
        Object::new()
            .text("id", id)
            .text("family", family)
            .text("body", profile.rule)
            .text("schema", &format!("{base}/schemas/{id}"))
            .text("example", &format!("{base}/examples/{id}"))
            .close()
    };
    let profiles: Vec<String> = PROFILES.iter().enumerate().map(profile).collect();
    let extensions: Vec<String> = extension::namespaces()
        .map(|(namespace, version, rule)| {
            Object::new()
                .text("namespace", namespace)
                .text("version", version)
                .text("rule", rule)
                .close()
        })
        .collect();
    let forms: Vec<String> = Form::ALL
        .iter()
        .map(|form| form.as_str().to_owned())
        .collect();
    Object::new()
        .text("uai_version", VERSION)
        .text("field_order", TABLE_VERSION)
        .raw("profiles", &list(&profiles))
        .raw("forms", &texts(&forms))
        .raw("modes", &words_of(&["strict", "lenient"]))
        .raw("carriages", &words_of(&["native", "strict", "split"]))
        .raw("extensions", &list(&extensions))
        .raw("features", &words_of(EXCHANGE.features))
        .close()
}

fn words_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    texts(&words)
}

/// `/trust-channels`: each with its schemes and what a message needs (UAI 5).
pub(super) fn trust_channels() -> String {
    let rows: [(&str, &[&str], &[&str], bool); 6] = [
        ("public-web", &["none"], &[], true),
        (
            "authenticated",
            &["bearer", "mtls", "http-signature"],
            &["credential_ref"],
            false,
        ),
        (
            "credentialed",
            &["vc", "oauth2", "api-key-ref"],
            &["credential_ref"],
            false,
        ),
        ("signed", &["did-jws"], &["signature_ref"], false),
        (
            "did-vc",
            &["did-vc"],
            &["credential_ref", "signature_ref"],
            false,
        ),
        ("internal", &["none", "local-socket"], &[], false),
    ];
    let channels: Vec<String> = rows
        .iter()
        .map(|(channel, schemes, needs, is_published)| {
            Object::new()
                .text("channel", channel)
                .raw("auth_schemes", &words_of(schemes))
                .raw("needs", &words_of(needs))
                .raw("published", if *is_published { "true" } else { "false" })
                .close()
        })
        .collect();
    Object::new()
        .raw("trust_channels", &list(&channels))
        .text(
            "checked",
            "A scheme other than none needs a reference. Channels and schemes are an open list, and no signature is verified.",
        )
        .close()
}

/// `/error-registry`: what is refused here, and what an error packet may say besides.
pub(super) fn error_registry() -> String {
    let own = Code::ALL
        .iter()
        .filter(|code| code.class() != Class::Advice)
        .map(|code| {
            Object::new()
                .text("code", code.as_str())
                .text("title", code.title())
                .raw("status", &code.class().http_status().to_string())
                .close()
        });
    let others = words::registered()
        .filter(|word| Code::parse(word).is_none())
        .map(|word| Object::new().text("code", word).close());
    let codes: Vec<String> = own.chain(others).collect();
    Object::new().raw("codes", &list(&codes)).close()
}

/// `/conformance-levels`: ours, each holding those before it (UAI 6.3).
pub(super) fn conformance_levels() -> String {
    let rows = [
        (
            "basic-envelope",
            true,
            "keyed messages of the six core profiles",
        ),
        ("forms", true, "minified and keyless messages"),
        (
            "agent-communication",
            true,
            "agent packets, acknowledgements, retries",
        ),
        (
            "multi-target",
            true,
            "several recipients in three carriages",
        ),
        (
            "pubsub-discovery",
            true,
            "topics, groups, discovery, negotiation",
        ),
        (
            "secured",
            false,
            "verified signatures and sealed bodies: not here",
        ),
    ];
    let levels: Vec<String> = rows
        .iter()
        .map(|(level, is_met, what)| {
            Object::new()
                .text("level", level)
                .raw("met", if *is_met { "true" } else { "false" })
                .text("what", what)
                .close()
        })
        .collect();
    Object::new()
        .raw("conformance_levels", &list(&levels))
        .text(
            "note",
            "Names of this exchange, not published ones, and no certification.",
        )
        .close()
}
