//! The page about translation, made from the tables that translation is made from.

use super::words::{ROWS, Word};
use super::{EXTENSION, MEMBER};

/// Where each fact of an envelope stands in each dialect: AEE, AEP, UAI-1.
static FIELDS: [(&str, &str, &str, &str); 13] = [
    ("id", "`id`", "`id`", "`message_id`"),
    ("time", "`ts`", "`created_at`", "`provenance.issued_at`"),
    ("sender", "`from`", "`source`", "`source`"),
    (
        "recipients",
        "`to`: the first",
        "`target`: the first",
        "`target`, `additional_targets`",
    ),
    (
        "topic without a recipient",
        "`to`: `bus.<topic>`",
        "`topic`",
        "mode `pubsub` in the record `urn:uai:ext:multi-agent`",
    ),
    (
        "conversation",
        "`corr`",
        "`conversation_id`",
        "`conversation.conversation_id`",
    ),
    (
        "correlation",
        "`corr`, when there is no conversation",
        "`correlation_id`",
        "`conversation.correlation_id`",
    ),
    (
        "cause",
        "`reply_to`, but for reports",
        "`causation_id`",
        "`conversation.parent_message_id`",
    ),
    (
        "task",
        "`reply_to` of a report; a task is its own",
        "`task_id`, `payload.task_id`",
        "`body.task_id`, `delivery.task_ref`",
    ),
    (
        "state of the task",
        "`type`, `intent`, `payload.code`",
        "`type`, `payload.state`",
        "`profile`, `body.state`, `body.status`",
    ),
    (
        "urgency",
        "`priority`",
        "`payload.priority` of work that is asked for",
        "`delivery.priority`",
    ),
    (
        "deadline",
        "`requires.timeout_ms` of work that is asked for",
        "`expires_at`, `payload.timeout_ms`",
        "`delivery.expires_at`",
    ),
    (
        "content",
        "`payload`; of an error `payload.details`",
        "`payload.input`, `.result`, `.details` or `.content`",
        "`body.parameters`, `body.result`, or the record's `payload`",
    ),
];

/// The text of `docs/translation.md`.
#[must_use]
pub fn text() -> String {
    let mut out = String::from(HEAD);
    out.push_str("| act | AEE | AEP | UAI-1 |\n|---|---|---|---|\n");
    for row in &ROWS {
        let cells = [row.aee, row.aep, row.uai].map(cell);
        out.push_str(&format!(
            "| {} | {} |\n",
            row.act.as_str(),
            cells.join(" | ")
        ));
    }
    out.push_str("\nWhy something is refused:\n\n");
    let mut reasons: Vec<&str> = Vec::new();
    for word in ROWS.iter().flat_map(|row| [row.aee, row.aep, row.uai]) {
        if let Word::Missing(why) = word
            && !reasons.contains(&why)
        {
            reasons.push(why);
        }
    }
    for why in reasons {
        let acts: Vec<_> = ROWS
            .iter()
            .filter(|row| [row.aee, row.aep, row.uai].contains(&Word::Missing(why)))
            .map(|row| row.act.as_str())
            .collect();
        out.push_str(&format!("- {}: {why}\n", acts.join(", ")));
    }
    out.push_str(
        "\n## Which field holds what\n\n| fact | AEE | AEP | UAI-1 |\n|---|---|---|---|\n",
    );
    for (fact, aee, aep, uai) in FIELDS {
        out.push_str(&format!("| {fact} | {aee} | {aep} | {uai} |\n"));
    }
    out.push_str(
        &TAIL
            .replace("{MEMBER}", MEMBER)
            .replace("{EXTENSION}", EXTENSION),
    );
    out
}

fn cell(word: Word) -> String {
    match word {
        Word::Exact(word) => format!("`{word}`"),
        Word::Near(word, act) => format!("`{word}`, read as {}", act.as_str()),
        Word::Missing(_) => "refused".into(),
    }
}

const HEAD: &str = "\
# Translation

A message is kept and delivered as the bytes that its sender wrote. Who asks for another dialect gets a
rendering of it beside that: never stored, made once, the same for everyone.

| where | how |
|---|---|
| `GET /v1/inbox/{party}`, `/v1/subscriptions/{name}/deliveries`, `/v1/messages`, `/v1/messages/{id}`, `/v1/stream` | `?as=aee`, `aep`, `uai`, or `native` |
| WebSocket: `subscribe`, `pull` | `\"as\":\"aee\"` |
| gRPC: `Subscribe`, `Pull`, `GetMessage` | `as` |
| verbs: `inbox`, `tail` | `--translate aee` |
| without publishing: `POST /v1/translate?to=aee`, `interwire translate --to aee` | |

Beside the envelope stands `as`, or `untranslated` with the reason when it is as it was sent; in a stream such a message
is an event `untranslated`, in a page a line, `{\"untranslated\":…,\"envelope\":…}`. Webhooks, buses, MCP and AEP sessions give
messages as they were sent.

What the reader answers in its own dialect is an envelope like any other. Its references are to what it was given, and mean
the origin: an acknowledgement settles the delivery, a reply settles it and ends the task, a report moves the task.

<!-- The tables are made by `protocol::translate::page`; a test compares them. -->

## What says what

What the sender's dialect says becomes the word of the reader's dialect for the same act. Where there is only a
nearest word, the table says what it reads as. AEE has five types; for what it has no type, it borrows AEP's word
as the intent of an event, and a code for an error.

";

const TAIL: &str = "
Times keep their moment. An AEP payload of our own writing is an object of what AEP expects there (`task_id`,
`state`, `error`, `description`) and the sender's content in one member.

## What has no field

It is in the member `{MEMBER}` (AEE, AEP), or in the extension record `{EXTENSION}` (UAI-1):

| member | holds |
|---|---|
| `dialect`, `id` | of the origin |
| `hash` | `sha256:` and the digest of the origin's canonical form (RFC 8785; of a keyless envelope: of the keyed form) |
| `envelope` | the origin's canonical text, less the content that the translation holds in a field of its own |
| `from`, `to` | where that content stood in the origin, and where it stands here (RFC 6901) |
| `recipients` | all of them, where the dialect has room for one |
| `payload` | the content, where a UAI-1 body has no room for it |

- **Nothing is lost.** Translated back it is the origin, equal in canonical form. By way of a third dialect, too: a
  translation of a translation is a translation of the origin.
- **Nothing is forged.** The member is believed only when translating the origin that it names gives this very
  envelope. A signature of the origin stands in the carried text and nowhere else: the translation is unsigned.
- **Nothing grows without bound.** A translation has at most four times the bytes of the origin's canonical form, and
  8 KiB.
- **Nothing depends on when.** It is made from the canonical form alone: no clock, no chance.

Content that UAI-1 would refuse (a member `..._at` that holds no UTC time), or that is nested deeper than 48, is
written as text: `{\"json\": \"...\"}`.

## Ids and parties

An id that the reader's grammar allows stays as it is. Another is spelled `iw.name.` and its bytes, with `_` and two
hexadecimal digits for each that is no letter, digit or `-`: the AEP id `evt_1` is too short for AEE and reads
`iw.name.evt_5f1`. Wherever an envelope refers to something by such a name (recipients, conversation, cause, task),
the exchange knows what it stands for. So the prefix `iw.name.` is ours; an id of your own that begins so is
spelled, too. What would be longer than 128 bytes is `iw.hash.` and a digest, and is not turned back: give ids of at
most 60 characters.

## What is refused

Besides what the first table refuses: an AEE record of five fields, which goes to nobody (`log_tier_only`); an AEE
time that is none (`timestamp_malformed`); numbers without one canonical form (`number_not_interoperable`). Where a
message is refused, its reader gets it as it was sent, and is told why.
";
