"""What the drivers of message brokers share: the loop over requests, filters, envelopes."""

import json
import sys


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


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
