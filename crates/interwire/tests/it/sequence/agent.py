"""A manager or a worker that speaks UAI-1 over HTTP, with nothing but the standard library.

    agent.py URL manager native|strict|split    hands task_report to worker1 and worker2, and waits
    agent.py URL worker NAME                    works once, on whatever carriage the handoff comes in

Prints one JSON object at the end: what it saw, in order.
"""

import hashlib
import json
import sys
import urllib.error
import urllib.request

NOW = "2026-12-01T00:00:00Z"
BOUNDARY = "Record only."
EXT = "urn:uai:ext:"


def jcs(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def call(method, url, body=None):
    request = urllib.request.Request(url, data=body, method=method)
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        sys.exit(f"{method} {url}: {refused.code} {refused.read().decode()}")


def agent(name):
    return {"type": "agent", "id": name, "label": name}


def sealed(message):
    """With the checksum that is right for it (UAI 5 T3)."""
    integrity = {"algorithm": "sha-256", "canonicalization": "RFC8785"}
    checksum = sha(jcs(message | {"integrity": integrity}))
    return message | {"integrity": integrity | {"checksum": "sha256:" + checksum}}


def envelope(profile, name, source, target, body, parent=None, mode="async"):
    conversation = {"conversation_id": "grp_report", "correlation_id": "corr_report"}
    if parent:
        conversation["parent_message_id"] = parent
    return {
        "uai_version": "1.0",
        "profile": profile,
        "message_id": name,
        "source": agent(source),
        "target": agent(target),
        "conversation": conversation,
        "delivery": {
            "mode": mode,
            "ack_required": profile == "uai.agent.handoff.v1",
            "idempotency_key": "key-" + name,
            "fallback_directive": "raise_blocker",
        },
        "trust": {"channel": "public-web", "auth_scheme": "none", "principal": source},
        "body": body,
        "provenance": {"issued_at": NOW},
        "extensions": [],
    }


def record(name, payload):
    return {"namespace": EXT + name, "version": "1", "required": False, "payload": payload}


def handoff(carriage):
    workers = ["worker1", "worker2"]
    actions = {name: f"write part {at + 1}" for at, name in enumerate(workers)}
    body = {
        "task_id": "task_report",
        "target_agent_id": "worker1",
        "context_summary": "a report in two parts",
        "handoff_reason": "two hands are faster",
        "exact_next_action": "write the report",
        "delegated_authorization": {"scope": ["write"], "granted_by": "manager"},
        "support_boundary": BOUNDARY,
    }
    origin = envelope("uai.agent.handoff.v1", "handoff_1", "manager", "worker1", body)
    assignments = [{"agent_id": name, "exact_next_action": actions[name]} for name in workers]
    origin["extensions"] = [record("assignment", {"assignments": assignments})]
    native = sealed(origin | {"additional_targets": [agent("worker2")]})
    if carriage == "native":
        return [native]
    if carriage == "strict":
        more = record("multi-agent", {"additional_targets": [agent("worker2")]})
        return [sealed(origin | {"extensions": origin["extensions"] + [more]})]
    copies = []
    for at, name in enumerate(workers):
        own = {"target_agent_id": name, "exact_next_action": actions[name]}
        split = record("split", {
            "origin_message_id": "handoff_1",
            "origin_canonical_hash": "sha256:" + sha(jcs(native)),
            "recipient_index": at,
            "recipient_count": len(workers),
        })
        copies.append(sealed(origin | {
            "message_id": "msg_" + sha(jcs(["handoff_1", name]))[:32],
            "target": agent(name),
            "body": body | own,
            "extensions": [split],
        }))
    return copies


def publish(url, message):
    return call("POST", url + "/v1/messages", json.dumps(message).encode())


def pull(url, name):
    while True:
        pulled = call("GET", f"{url}/v1/inbox/agent.{name}?max=1&wait_ms=10000")
        for delivery in pulled["deliveries"]:
            return delivery


def done(url, delivery):
    body = {"deliveries": [delivery["delivery"]]}
    call("POST", url + "/v1/deliveries/ack", json.dumps(body).encode())


def manager(url, carriage):
    sent = handoff(carriage)
    for message in sent:
        publish(url, message)
    seen = []
    while sum(kind == "uai.agent.final-report.v1" for kind, *_ in seen) < 2:
        delivery = pull(url, "manager")
        message = delivery["envelope"]
        said = message["body"].get("ack_status") or message["body"].get("outcome")
        correlation = message["conversation"]["correlation_id"]
        seen.append([message["profile"], message["source"]["id"], said, correlation])
        done(url, delivery)
    return {"sent": [message["message_id"] for message in sent], "seen": seen}


def worker(url, name):
    message = pull(url, name)["envelope"]
    extensions = {one["namespace"]: one["payload"] for one in message["extensions"]}
    carriage = "native" if "additional_targets" in message else "strict"
    if EXT + "split" in extensions:
        carriage = "split"
    action = message["body"]["exact_next_action"]
    for one in extensions.get(EXT + "assignment", {}).get("assignments", []):
        if one["agent_id"] == name:
            action = one["exact_next_action"]
    task, cause = message["body"]["task_id"], message["message_id"]
    ack = {
        "ack_for_message_id": cause, "ack_status": "accepted",
        "received_at": NOW, "support_boundary": BOUNDARY,
    }
    publish(url, sealed(envelope("uai.agent.ack.v1", "ack_" + name, name, "manager", ack, cause)))
    report = {
        "task_id": task, "outcome": "completed", "summary": "done as it was asked: " + action,
        "evidence_refs": ["urn:evidence:" + name], "support_boundary": BOUNDARY,
    }
    report = envelope("uai.agent.final-report.v1", "report_" + name, name, "manager", report, cause)
    publish(url, sealed(report))
    return {"carriage": carriage, "action": action}


if __name__ == "__main__":
    _, url, role, name = sys.argv
    print(json.dumps(manager(url, name) if role == "manager" else worker(url, name)))
