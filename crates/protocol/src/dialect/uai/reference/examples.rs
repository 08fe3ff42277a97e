//! One example of every known profile, in our own words.
//!
//! Each is a valid message in both modes, made by the same writer that agents use, with ids and times that
//! never change, so that its canonical hash never does. Implements UAI 7 `/examples/{profile}`.

use super::super::build::{Agent, Envelope, Heading};
use crate::Timestamp;

/// 2026-07-01T12:00:00Z, in milliseconds: when every example was written.
const ISSUED_AT: i64 = 1_782_907_200_000;

/// The example of that profile; none for one that is not known.
pub(super) fn example(id: &str) -> Option<String> {
    let (number, (_, body)) = BODIES
        .iter()
        .enumerate()
        .find(|(_, (profile, _))| *profile == id)?;
    let heading = Heading {
        id: format!("msg_example_{:02}", number + 1),
        issued_at: Timestamp::from_millis(ISSUED_AT),
        source: Agent::new("agent", "agt_librarian").labelled("Librarian"),
        target: Agent::new("agent", "agt_binder").labelled("Bookbinder"),
        conversation: "conv_atlas".into(),
    };
    let envelope = Envelope::new(id, (*body).into(), heading).correlation("cor_atlas");
    // The bodies are constants; the tests write every one of them.
    envelope.write().ok()
}

/// A body for every known profile.
const BODIES: [(&str, &str); 18] = [
    (
        "uai.intent.request.v1",
        r#"{"intent":"bind","subject":"book.atlas","parameters":{"cover":"linen"},"constraints":{"max_days":14},"expected_response_profile":"uai.intent.response.v1"}"#,
    ),
    (
        "uai.intent.response.v1",
        r#"{"status":"accepted","request_message_id":"msg_example_01","notices":["Linen is in stock."],"task_ref":"task_bind_atlas"}"#,
    ),
    (
        "uai.capability.statement.v1",
        r#"{"operations":["bind","mend"],"profiles":["uai.intent.request.v1","uai.task.status.v1"],"endpoints":[{"url":"https://binder.example/uai","transport":"https"}],"security_schemes":[{"scheme":"none"}],"transports":["https"],"trust_channels":["public-web"],"conformance_levels":["basic-envelope"]}"#,
    ),
    (
        "uai.error.v1",
        r#"{"status":422,"code":"missing_field","title":"a required member is missing","detail":"expected `subject`, got nothing","related_message_id":"msg_example_01","errors":[{"code":"missing_field","path":"/body/subject","detail":"expected `subject`, got nothing"}]}"#,
    ),
    (
        "uai.conformance.result.v1",
        r#"{"result":"pass","validated_profile":"uai.intent.request.v1","validated_message_id":"msg_example_01","summary":{"errors":0,"warnings":1},"issues":[{"code":"unknown_word","severity":"warning","path":"/delivery/status","message":"a word that only this sender uses"}],"artifacts":["https://binder.example/evidence/1"]}"#,
    ),
    (
        "uai.task.status.v1",
        r#"{"task_id":"task_bind_atlas","state":"running","progress":40,"notes":"The pages are sewn.","updated_at":"2026-07-01T11:00:00Z"}"#,
    ),
    (
        "uai.agent.message.v1",
        r#"{"message_type":"query","content":"Which cloth is the cover to have?","context_refs":["https://library.example/atlas"],"requires_acknowledgement":false,"intent":"choose_cloth"}"#,
    ),
    (
        "uai.agent.ack.v1",
        r#"{"ack_for_message_id":"msg_example_12","ack_status":"accepted","reason":"The bench is free.","received_at":"2026-07-01T11:59:00Z","next_expected":"uai.agent.task-status.v1","support_boundary":"Binds books; does not edit them."}"#,
    ),
    (
        "uai.agent.task-status.v1",
        r#"{"task_id":"task_bind_atlas","state":"blocked","progress":60,"summary":"The cover waits for cloth.","blockers":["blk_cloth"],"next_update_due":"2026-07-02T12:00:00Z","support_boundary":"Binds books; does not edit them."}"#,
    ),
    (
        "uai.agent.blocker.v1",
        r#"{"blocker_id":"blk_cloth","blocker_type":"dependency","description":"The linen has not come.","human_review_required":false,"proposed_resolution":"Wait two days, or take canvas.","support_boundary":"Binds books; does not edit them.","task_id":"task_bind_atlas","related_message_ids":["msg_example_12"]}"#,
    ),
    (
        "uai.agent.memory-proposal.v1",
        r#"{"proposal_id":"prop_cloth","source_type":"task_evidence","proposed_facts":[{"fact":"Linen takes two days to come.","evidence_ref":"https://binder.example/evidence/2","confidence":0.8}],"proposed_status":"pending_review","task_execution_separation":true,"review_required":true,"support_boundary":"Proposes; a curator decides.","base_version":3}"#,
    ),
    (
        "uai.agent.handoff.v1",
        r#"{"task_id":"task_bind_atlas","target_agent_id":"agt_binder","context_summary":"An atlas of 300 pages, printed and folded.","handoff_reason":"Binding is the bookbinder's trade.","exact_next_action":"Sew the pages.","delegated_authorization":{"scope":["use:linen"],"granted_by":"agt_librarian","expires_at":"2027-07-01T00:00:00Z"},"support_boundary":"Hands over; does not bind.","required_reads":["https://library.example/atlas"],"risks":["The paper is thin."]}"#,
    ),
    (
        "uai.agent.final-report.v1",
        r#"{"task_id":"task_bind_atlas","outcome":"completed","summary":"The atlas is bound in linen.","evidence_refs":["https://binder.example/evidence/3"],"validation_results":[{"check":"opens flat","result":"pass"}],"remaining_risks":[],"next_action":"Collect it.","support_boundary":"Binds books; does not edit them."}"#,
    ),
    (
        "uai.agent.correction.v1",
        r#"{"correction_id":"corr_pages","corrects_message_id":"msg_example_12","reason":"The atlas has 320 pages.","corrected_fields":{"/body/context_summary":"An atlas of 320 pages, printed and folded."},"effective_at":"2026-07-01T12:00:00Z","support_boundary":"Corrects its own packets only."}"#,
    ),
    (
        "uai.capability.profile.v1",
        r#"{"ability_profile_id":"ability_binder","declared_level":"L3","label":"Bookbinder","capability_surface":["bind","mend"],"authority_boundary":"Its own bench.","required_human_approval":["discard"],"no_op_triggers":["missing_profile"],"evidence_requirements":["photograph"],"features":["form.keyless"]}"#,
    ),
    (
        "uai.capability.negotiation.v1",
        r#"{"negotiation_id":"neg_atlas","phase":"offer","offered":{"uai_versions":["1.0"],"forms":["keyless","keyed"],"features":["ma.additional_targets","ma.extension_carriage"],"max_bytes":262144},"required":{"features":["ma.extension_carriage"]}}"#,
    ),
    (
        "uai.agent.discovery.v1",
        r#"{"operation":"query","query":{"skill":"bind"},"limit":10}"#,
    ),
    (
        "uai.agent.sealed.v1",
        r#"{"sealed_profile":"uai.agent.message.v1","content_type":"application/json","jwe":{"protected":"eyJlbmMiOiJBMjU2R0NNIiwidHlwIjoidWFpLXNlYWxlZCtqd2UifQ","recipients":[{"header":{"alg":"ECDH-ES+A256KW","kid":"did:example:binder#1"},"encrypted_key":"bm90LWEtcmVhbC1rZXk"}],"iv":"bm90LXJlYWwtaXY","ciphertext":"bm90LXJlYWw","tag":"bm90LXJlYWwtdGFn"}}"#,
    ),
];
