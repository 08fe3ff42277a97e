"""What the drivers of message brokers share: the loop over requests, filters, envelopes, answers."""

import asyncio
import datetime
import inspect
import json
import sys
import traceback
import uuid

# An agent's link is to its broker, so what a door says to its readers has no way to it.
BY_REQUEST = "reading is by request: a reader that stops asking holds nothing up and is owed nothing"
NOT_TOLD = {
    "gap": "a reader's place is in the broker's own log: what is gone there is the broker's affair, and it tells nobody",
    "draining": "the link is to the broker, which stays when the exchange goes: nobody is told",
}
NO_LEASE = {"fault": {"code": "lease_lost", "pointer": ""}}


def header(text):
    """The few facts a foreign reader looks at; an empty dict for text that is no JSON object."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def spelled(party):
    """A party the same way, however its dialect writes it."""
    if isinstance(party, dict):
        party = f"{party.get('type')}:{party.get('id')}"
    kinds = ("agent", "human", "service", "system", "tool")
    for kind in kinds:
        if isinstance(party, str) and party.startswith(kind + "."):
            return kind + ":" + party[len(kind) + 1 :]
    return party


def pattern_matches(pattern, text):
    wanted, got = pattern.split("."), str(text or "").split(".")
    if pattern == "*":
        return True
    if wanted[-1] == "*":
        return len(got) >= len(wanted) and all(w in ("*", g) for w, g in zip(wanted[:-1], got))
    return len(got) == len(wanted) and all(w in ("*", g) for w, g in zip(wanted, got))


def matches(wanted, text):
    """Whether an envelope passes a filter; fields that a foreign reader does not know are not checked."""
    facts = header(text)
    fields = {
        "type": facts.get("type") or facts.get("profile"),
        "source": spelled(facts.get("source") or facts.get("from")),
        "target": spelled(facts.get("target") or facts.get("to")),
        "conversation": facts.get("conversation_id") or facts.get("corr"),
        "topic": facts.get("topic"),
        "task": facts.get("task_id"),
    }
    for name, patterns in (wanted or {}).items():
        if name not in fields:
            continue
        patterns = [patterns] if isinstance(patterns, str) else patterns
        if name in ("source", "target"):
            if spelled(fields[name]) not in [spelled(one) for one in patterns]:
                return False
        elif not any(pattern_matches(one, fields[name]) for one in patterns):
            return False
    return True


def hears(kind):
    return {"cannot": NOT_TOLD[kind]} if kind in NOT_TOLD else {"ok": True}


def reply(text):
    """What a recipient answers to an AEE message; it acknowledges the message, as on any door."""
    message = json.loads(text)
    now = datetime.datetime.now(datetime.timezone.utc)
    return json.dumps(
        {
            "v": "1", "id": uuid.uuid4().hex, "ts": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "type": "result",
            "from": message["to"], "to": message["from"], "intent": message["intent"],
            "corr": message["corr"], "reply_to": message["id"], "trace": None, "priority": "normal",
            "requires": None, "payload": {}, "sig": None,
        }
    )


async def serve(driver_class):
    """The loop of the drivers whose requests have members of their own."""
    driver = driver_class(json.loads(sys.argv[1]))
    if hasattr(driver, "connected"):
        await driver.connected()
    print(json.dumps({"ready": True}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        request = json.loads(line)
        operation = {"raw": "publish"}.get(request["op"], request["op"])
        try:
            if operation in ("stall", "unstall"):
                answer = {"cannot": BY_REQUEST}
            elif operation == "hears":
                answer = hears(request["kind"])
            else:
                answer = getattr(driver, operation)(request)
                if inspect.isawaitable(answer):
                    answer = await answer
        except Exception:
            answer = {"broken": traceback.format_exc()}
        print(json.dumps(answer), flush=True)
        if operation == "end":
            break


def run(driver_class):
    asyncio.run(serve(driver_class))
