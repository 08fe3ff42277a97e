//! The page about formats, made by wrapping small examples.

use crate::mark::MEMBER;
use crate::tree::Tree;
use crate::{Format, LIMITS, Options, wrap};
use protocol::json;

/// What the row is about, a document, and which of its envelopes is shown.
struct Row {
    format: Format,
    what: &'static str,
    document: &'static str,
    envelope: usize,
}

const fn row(format: Format, what: &'static str, document: &'static str, envelope: usize) -> Row {
    Row {
        format,
        what,
        document,
        envelope,
    }
}

static ROWS: [Row; 29] = [
    row(
        Format::OpenAi,
        "message of a role",
        r#"{"role":"user","content":"Weather?"}"#,
        0,
    ),
    row(
        Format::OpenAi,
        "`tool_calls[]` of type `function`",
        r#"{"role":"assistant","tool_calls":[{"id":"call_9XyZ0123456789abcdef","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bern\"}"}}]}"#,
        1,
    ),
    row(
        Format::OpenAi,
        "`tool_calls[]` of type `custom`",
        r#"{"role":"assistant","tool_calls":[{"id":"call_9XyZ0123456789abcdef","type":"custom","custom":{"name":"shell","input":"ls"}}]}"#,
        1,
    ),
    row(
        Format::OpenAi,
        "message of role `tool`",
        r#"{"role":"tool","tool_call_id":"call_9XyZ0123456789abcdef","content":"sun"}"#,
        0,
    ),
    row(
        Format::OpenAi,
        "`function_call` (older)",
        r#"[{"role":"assistant","function_call":{"name":"get_weather","arguments":"{}"}}]"#,
        1,
    ),
    row(
        Format::OpenAi,
        "message of role `function` (older)",
        r#"[{"role":"function","name":"get_weather","content":"sun"}]"#,
        0,
    ),
    row(
        Format::OpenAi,
        "item `function_call`",
        r#"{"type":"function_call","call_id":"call_9XyZ0123456789abcdef","name":"ops__backup__check","arguments":"{}"}"#,
        0,
    ),
    row(
        Format::OpenAi,
        "item `function_call_output`",
        r#"{"type":"function_call_output","call_id":"call_9XyZ0123456789abcdef","output":"fine"}"#,
        0,
    ),
    row(
        Format::OpenAi,
        "completion, response",
        r#"{"id":"chatcmpl-0123","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"Sun."}}]}"#,
        0,
    ),
    row(
        Format::OpenAi,
        "request: `messages`, `input`",
        r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#,
        0,
    ),
    row(
        Format::Anthropic,
        "message",
        r#"{"type":"message","id":"msg_0123456789","role":"assistant","content":[{"type":"text","text":"Sun."}],"stop_reason":"end_turn"}"#,
        0,
    ),
    row(
        Format::Anthropic,
        "block `tool_use`, `server_tool_use`, `mcp_tool_use`",
        r#"{"type":"tool_use","id":"toolu_0123456789abcdefghij","name":"get_weather","input":{"city":"Bern"}}"#,
        0,
    ),
    row(
        Format::Anthropic,
        "block `tool_result` and its kin",
        r#"{"type":"tool_result","tool_use_id":"toolu_0123456789abcdefghij","content":"sun"}"#,
        0,
    ),
    row(
        Format::Anthropic,
        "the same with `is_error`",
        r#"{"type":"tool_result","tool_use_id":"toolu_0123456789abcdefghij","content":"no such city","is_error":true}"#,
        0,
    ),
    row(
        Format::Google,
        "content",
        r#"{"role":"model","parts":[{"text":"Sun."}]}"#,
        0,
    ),
    row(
        Format::Google,
        "part `functionCall`, `function_call`",
        r#"{"functionCall":{"name":"get_weather","args":{"city":"Bern"}}}"#,
        0,
    ),
    row(
        Format::Google,
        "part `functionResponse`, `function_response`",
        r#"{"functionResponse":{"id":"fn-0123456789abcdef","name":"get_weather","response":{"output":"sun"}}}"#,
        0,
    ),
    row(
        Format::Google,
        "the same with `error` in the response",
        r#"{"functionResponse":{"id":"fn-0123456789abcdef","name":"get_weather","response":{"error":"no such city"}}}"#,
        0,
    ),
    row(
        Format::Google,
        "`functionDeclarations` alone",
        r#"{"functionDeclarations":[{"name":"get_weather"}]}"#,
        0,
    ),
    row(
        Format::LangChain,
        "`tool_calls[]` of a message",
        r#"{"type":"ai","content":"","tool_calls":[{"type":"tool_call","id":"call_9XyZ0123456789abcdef","name":"get_weather","args":{"city":"Bern"}}]}"#,
        1,
    ),
    row(
        Format::LangChain,
        "message of type `tool`",
        r#"{"type":"tool","tool_call_id":"call_9XyZ0123456789abcdef","name":"get_weather","content":"sun","status":"success"}"#,
        0,
    ),
    row(
        Format::LangChain,
        "agent's action, alone or in a step",
        r#"{"tool":"get_weather","tool_input":"Bern","log":"","type":"AgentAction"}"#,
        0,
    ),
    row(
        Format::LangGraph,
        "update of a node",
        r#"{"planner":{"messages":[{"type":"ai","content":"Sun.","tool_calls":[]}]}}"#,
        0,
    ),
    row(
        Format::LangGraph,
        "values, snapshot, checkpoint",
        r#"{"values":{"messages":[]},"next":[],"config":{"configurable":{"thread_id":"thread-0001"}}}"#,
        0,
    ),
    row(
        Format::LangGraph,
        "task of a node",
        r#"{"id":"5f070022-fcf6-ade7-23d7-792f6c1d38f0","name":"planner","input":{"n":1},"triggers":[]}"#,
        0,
    ),
    row(
        Format::LangGraph,
        "result of a task",
        r#"{"id":"5f070022-fcf6-ade7-23d7-792f6c1d38f0","name":"planner","error":null,"result":{"n":2},"interrupts":[]}"#,
        0,
    ),
    row(
        Format::AutoGen,
        "message or event of its type",
        r#"{"source":"planner","type":"TextMessage","content":"Sun."}"#,
        0,
    ),
    row(
        Format::CrewAi,
        "output: what was asked for",
        r#"{"description":"Find the weather","raw":"Sun.","agent":"Researcher"}"#,
        0,
    ),
    row(
        Format::CrewAi,
        "output: what came of it",
        r#"{"description":"Find the weather","raw":"Sun.","agent":"Researcher"}"#,
        1,
    ),
];

/// The text of `docs/formats.md`.
#[must_use]
pub fn text() -> String {
    let mut out = String::from(HEAD);
    for row in &ROWS {
        let cells = cells(row).unwrap_or_else(|| "?".into());
        out.push_str(&format!(
            "| {} | {} | {cells} |\n",
            row.format.as_str(),
            row.what
        ));
    }
    out.push_str(&TAIL.replace("{MEMBER}", MEMBER));
    out
}

/// type, intent, from and to, cause, payload.
fn cells(row: &Row) -> Option<String> {
    let envelopes = wrap(
        row.document.as_bytes(),
        Some(row.format),
        &Options::default(),
    )
    .ok()?;
    let envelope = envelopes.get(row.envelope)?;
    let document = json::read(envelope.as_bytes(), LIMITS).ok()?;
    let root = document.root();
    let text = |name: &str| Some(root.get(name)?.as_str()?.into_owned());
    let kind = text("type")?;
    let cause = match &*kind {
        "result" | "error" => "its call",
        _ if text("reply_to").is_some() => "what holds it",
        _ => "null",
    };
    let payload = Tree::of(root.get("payload")?).without(MEMBER).to_json();
    Some(format!(
        "{kind} | `{}` | `{}` to `{}` | {cause} | `{payload}`",
        text("intent")?,
        text("from")?,
        text("to")?
    ))
}

const HEAD: &str = "\
# Formats of agent frameworks

What an agent framework writes becomes AEE envelopes, and envelopes become what it reads: with
`interwire wrap` and `interwire unwrap`, or with the crate `formats`, which does no I/O.

```
interwire wrap --from openai completion.json                  # prints one envelope a line
interwire wrap --as agent.planner --to agent.tools --send completion.json
interwire wrap --tier mve5 --send gateway-log.ndjson          # for logs: kept, never delivered
interwire wrap request.json | interwire unwrap                # the same document again
interwire unwrap --to anthropic replies.ndjson                # replies of any agent as tool results
interwire wrap --card weather declarations.json > card.json   # declared tools as a card
```

`--from auto`, the default, tells the framework by what only it writes; plain messages with `role` and
`content` count as OpenAI's.

| format | what is read |
|---|---|
| openai | Chat Completions: completions, requests, messages, `tool_calls`, the older `function_call`; Responses: responses, requests, items |
| anthropic | messages, requests, blocks that stand alone |
| google | responses, requests, contents, parts, in both spellings of names; function declarations |
| langchain | messages as `messages_to_dict`, `model_dump` and `dumpd` write them, alone, in a list or anywhere in an object; agent actions, steps, finishes |
| langgraph | streams of updates, values, tasks, checkpoints and debug events, a step or a list of steps, with or without their mode; snapshots; checkpoints. Messages in them as for langchain |
| autogen | messages and events of agentchat, messages of core, `TaskResult`, `Response` |
| crewai | `TaskOutput`, `CrewOutput` |

## What becomes what

Each row is what `interwire wrap` makes of an example; what else the part said is in the mark (see below).

| format | part | type | intent | from, to | reply_to | payload |
|---|---|---|---|---|---|---|
";

const TAIL: &str = "
- **Calls** are tasks. The arguments are the payload, member by member, so that an agent that knows nothing of
  the framework can take them. Arguments that are no JSON object are in `input`.
- **Intents** of calls follow from the tool's name: a dotted name is one; `ops__backup__check`, which is how dotted
  names are spelled where dots are not allowed, is `ops.backup.check`; any other is below `tool.`.
- **Results** are results, or errors with `code` `E_FAILED` where the framework says that the tool failed.
- **What holds other parts** (a message with calls, a response, a step) is an event that comes with what is not
  theirs. A call names it as its cause. Parts that are on their way (AutoGen's chunks) are of type `stream`.
- **Who speaks**: `--as` where the document names nobody, `--to` for the other side; what stands for them without these
  options is in the table. AutoGen's sources, CrewAI's agents and LangGraph's nodes speak under their own names, as
  `agent.<name>`.
- **Time** is `--at`; else what the document says (`created`, `created_at`, `createTime`, `timestamp`, `ts`); else
  1970-01-01T00:00:00.000Z: the moment of wrapping would make every repeat another message.
- **A log record** (`--tier mve5`) has `v id ts type from intent`, which is both published forms of MVE-5, with
  `corr`, `reply_to` and `payload`. It has no `to`, so the exchange keeps it and delivers it to nobody.
- **A card** (`--card NAME`) has a skill and an intent for each declared tool, with its parameters as the schema of the task's
  payload. Google's schemas are put in JSON Schema's words, and a closed schema allows the mark.

## Ids

| what | id |
|---|---|
| a call | its own id, when that ends in 16 or more letters, digits, `_` or `-`; else `toolcall.<hash of corr>.<id>` |
| a call without an id | as above, of its name and its number among those: `get_weather#0` |
| anything else | a UUID that follows from the envelope's content |
| conversation | `--corr`; else the thread or conversation that the document names, else its id, else a hash of it |

So the same document gives the same bytes, and the exchange answers a repeat as a duplicate. A result finds its
call also when the two are in different documents; where calls have short ids, give both documents the same `--corr`. A
history that is wrapped again after every turn, with the same `--corr`, gives the envelopes of its beginning again:
only what is new is new. A call that is in a second document with another time, cause or conversation is refused with
`id_conflict`: it is not made twice. In strict mode an exchange takes ULIDs and UUIDs only, so it refuses calls whose ids
are neither.

Within a document a call is made once: copies of it (LangGraph's states repeat all messages) stay in what holds them.

## The mark, and back

`payload.{MEMBER}` holds what AEE has no field for:

| member | what |
|---|---|
| `format`, `document`, `at` | the framework, a name of the document, the part's JSON pointer in it |
| `call`, `name`, `role` | the call's id, the tool, the speaker's role |
| `moved` | where the content stood (`from`), which member of the payload has it now (`to`; all of it when absent), and `how`: `value` as it was; `json` it was the canonical text of it; `copy` the text was in a spelling of its own and is kept in `rest`. `gaps`: items of a list that are parts of their own |
| `parts` | where the parts of other envelopes stand, counted from `at` |
| `rest` | the part itself, with null where something was moved or is a part of its own |

`interwire unwrap` puts documents together from it, equal to the origin in canonical form (RFC 8785), in whatever order
the envelopes come. A part that is missing is a fault that names it; arguments that contradict the text in `rest` are
`payload_invalid`. A changed payload that is written nowhere else is a changed document: nothing is signed.

What was never wrapped, or was wrapped from another framework, is written anew in the format of `--to`: tasks are
calls, results and errors are results of the calls that they answer, everything else is a message of role `user` when a human
wrote it and `assistant` otherwise. `--anew` writes everything so, for envelopes that are not all of a document, such
as those of one inbox. Envelopes of AEP and UAI-1 are translated first. CrewAI has words for results only; the rest
is `not_translatable`.

## Limits

A document has at most 16 MiB, a depth of 56 and 100,000 messages in a list; an exchange takes envelopes of 1 MiB unless
its `envelope_bytes_max` says otherwise. Streams of chunks (`chat.completion.chunk` and its like) are not read: put
the chunks together first. `./test --formats` tests files that the frameworks' own packages wrote, and gives what comes back to
those packages.
";
