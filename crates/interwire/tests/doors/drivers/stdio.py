"""Drives `interwire stdio` as a subprocess, one event a line; JSON lines in, JSON lines out."""
import json
import queue
import subprocess
import sys
import threading
import uuid

config = json.loads(sys.argv[1])
PARTY = config.get("party", "agent:b").replace("agent.", "agent:", 1)
SOURCE = "service:interwire"
COMMAND = config.get("command") or [config.get("program", "interwire"), "stdio", "--url", config["url"]]


class Session:
    def __init__(self):
        self.id = "sess_" + uuid.uuid4().hex
        self.follows = self.last = None
        self.reading = threading.Event()
        self.reading.set()
        self.start()

    def start(self):
        self.live, self.taken, self.answers = queue.Queue(), queue.Queue(), queue.Queue()
        self.child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        threading.Thread(target=self.read, args=(self.child, self.live, self.taken, self.answers), daemon=True).start()

    def read(self, child, live, taken, answers):
        attempt = 1
        for line in child.stdout:
            self.reading.wait()
            text = line.rstrip("\n")
            event = json.loads(text)
            kind, payload = event.get("type", ""), event.get("payload") or {}
            if event.get("source") != SOURCE or kind.startswith("task."):
                self.last = event.get("id", self.last)
                item = {"envelope": text, "attempt": attempt, "delivery": event.get("id")}
                (taken if self.follows is None else live).put(item)
                attempt = 1
            elif kind == "event.redelivered":
                attempt = payload["attempt"]
            elif event.get("causation_id") or kind.endswith(".rejected"):
                answers.put(event)
            elif kind in ("state.invalidated", "session.closed", "session.error"):
                live.put({"control": {"type": kind, **payload}})
        answers.put(None)

    def ask(self, text):
        self.child.stdin.write(text.replace("\n", " ") + "\n")
        self.child.stdin.flush()
        return self.answers.get(timeout=30)

    def event(self, kind, payload):
        return json.dumps({"spec_version": "0.2", "id": "evt_" + uuid.uuid4().hex, "type": kind, "source": PARTY,
                           "created_at": "2026-07-01T12:00:00Z", "payload": payload})

    def open(self, **more):
        return self.ask(self.event("session.opened", {"session_id": self.id, **more}))


def result(answer):
    if answer is None:
        return {"fault": {"code": "closed", "pointer": ""}}
    payload = answer["payload"]
    if "error" in payload:
        details = payload["error"].get("details", {})
        return {"fault": {"code": details.get("code"), "pointer": details.get("pointer", ""), **details}}
    return {"receipt": payload["receipt"]} if "receipt" in payload else {"ok": True}


def take(items, timeout_ms):
    try:
        return items.get(timeout=timeout_ms / 1000)
    except queue.Empty:
        return {"nothing": True}


def do(session, request):
    op = request["op"]
    if op in ("publish", "raw"):
        return result(session.ask(request["envelope" if op == "publish" else "text"]))
    if op == "follow":
        session.follows = request.get("filter") or {}
        wish = {("types" if k == "type" else k): v for k, v in session.follows.items()} or {"types": "*"}
        if request.get("from"):
            wish["from_cursor"] = request["from"]
        session.open()
        return result(session.ask(session.event("subscription.requested", wish)))
    if op == "next":
        item = take(session.live, request["timeout_ms"])
        return {"envelope": item["envelope"], "cursor": item["delivery"]} if "envelope" in item else item
    if op == "consume":
        return result(session.open(delivery_mode="at_least_once"))
    if op == "take":
        return take(session.taken, request["timeout_ms"])
    if op in ("ack", "nack"):
        payload, kind = {"acknowledged_event_id": request["delivery"]}, "event.acknowledged"
        if op == "nack":
            kind = "event.rejected"
            payload["error"] = {"code": "internal_error", "message": "not now", "retryable": True}
        answer = result(session.ask(session.event(kind, payload)))
        return answer if "fault" in answer else {"ok": True}
    if op == "cut":
        session.child.kill()
        session.child.wait()
        return {"ok": True}
    if op == "resume":
        session.start()
        more = {"last_event_id": session.last} if session.last and session.follows is not None else {}
        return result(session.open(**more))
    if op in ("stall", "unstall"):
        (session.reading.clear if op == "stall" else session.reading.set)()
        return {"ok": True}
    if op == "end":
        session.child.stdin.close()
        return {"ok": session.child.wait(timeout=30) == 0}
    return {"cannot": f"no operation {op}"}


SESSION = Session()
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(do(SESSION, request)), flush=True)
    if request["op"] == "end":
        break
