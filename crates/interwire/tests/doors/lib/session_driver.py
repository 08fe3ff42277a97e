"""AEP sessions over any link of text frames: what a foreign client of the protocol does, whatever carries it.

A link is made by a function and has `send(text)`, `texts()` (what comes, until the link ends), `cut()` and
`close()`.
"""

import itertools
import json
import queue
import threading
import uuid

EXCHANGE = "service:interwire"


class Session:
    def __init__(self, start, connect):
        self.connect = connect
        self.party = start["party"].replace(".", ":", 1)
        self.id = "sess_" + uuid.uuid4().hex
        self.numbers = itertools.count()
        self.wish, self.last, self.place = None, None, None
        self.begin()

    def begin(self):
        self.link = self.connect()
        self.live, self.taken, self.answers = queue.Queue(maxsize=1), queue.Queue(), queue.Queue()
        self.reading = threading.Event()
        self.reading.set()
        self.is_cut = False
        threading.Thread(target=self.read, args=(self.link,), daemon=True).start()

    def read(self, link):
        attempt = 1
        end = {"control": {"kind": "ended"}}
        try:
            for text in link.texts():
                if link is not self.link:
                    return
                self.reading.wait()
                event = json.loads(text)
                kind, payload = event.get("type", ""), event.get("payload") or {}
                if event.get("source") != EXCHANGE:
                    item = {"envelope": text, "attempt": attempt, "delivery": event["id"]}
                    (self.taken if self.wish is None else self.live).put(item)
                    attempt = 1
                elif kind == "event.redelivered":
                    attempt = payload["attempt"]
                elif kind == "state.invalidated" and payload.get("reason") == "gap":
                    self.live.put({"control": {"kind": "gap"} | payload["gap"]})
                elif kind == "session.closed" and payload.get("reason") == "draining":
                    self.live.put({"control": {"kind": "draining"} | payload})
                elif kind == "session.error" and code(payload) == "slow_consumer":
                    self.live.put({"control": {"kind": "slow_consumer"} | payload})
                elif event.get("causation_id") or kind.endswith(".rejected"):
                    self.answers.put(event)
        except Exception as error:
            end = {"control": {"kind": "broken", "why": repr(error)}}
        if link is self.link and not self.is_cut:
            self.live.put(end)
            self.answers.put(None)

    def ask(self, text):
        self.link.send(text)
        return self.answers.get(timeout=60)

    def event(self, source, kind, payload):
        members = {
            "spec_version": "0.2",
            "id": f"evt_{uuid.uuid4().hex}_{next(self.numbers)}",
            "type": kind,
            "source": source,
            "created_at": "2026-11-30T16:00:00Z",
            "payload": payload,
        }
        return self.ask(json.dumps(members))

    def publish(self, envelope):
        return result(self.ask(envelope))

    def raw(self, text):
        return result(self.ask(text))

    def follow(self, filter, **members):
        self.wish = {name: [one.replace(".", ":", 1) for one in values] if name == "target" else values
                     for name, values in filter.items()}
        self.last = members.get("from")
        return self.subscribe()

    def subscribe(self):
        wish = self.wish | ({"from_cursor": self.last} if self.last else {})
        # Not the party that the events are for: its inbox would come as well.
        answer = self.event("agent:reader", "subscription.requested", wish)
        done = result(answer)
        if "fault" not in done and not self.last:
            self.last = answer["payload"].get("cursor")
        return done

    def next(self, timeout_ms):
        item = take(self.live, timeout_ms)
        if "envelope" not in item:
            return item
        self.last = item["delivery"]
        return {"envelope": item["envelope"], "cursor": item["delivery"]}

    def consume(self, place):
        self.place = place.replace(".", ":", 1)
        opened = {"session_id": self.id, "delivery_mode": "at_least_once"}
        return result(self.event(self.place, "session.opened", opened))

    def take(self, timeout_ms):
        return take(self.taken, timeout_ms)

    def ack(self, delivery):
        payload = {"acknowledged_event_id": delivery}
        return settled(self.event(self.place, "event.acknowledged", payload))

    def nack(self, delivery, retry_after_ms):
        error = {"code": "internal_error", "message": "not now", "retryable": True}
        payload = {"acknowledged_event_id": delivery, "error": error | {"retry_after_ms": retry_after_ms}}
        return settled(self.event(self.place, "event.rejected", payload))

    def cut(self):
        self.is_cut = True
        self.link.cut()
        return {"ok": True}

    def resume(self):
        self.begin()
        return self.subscribe()

    def stall(self):
        self.reading.clear()
        return {"ok": True}

    def unstall(self):
        self.reading.set()
        return {"ok": True}

    def end(self):
        self.is_cut = True
        self.link.close()
        return {"ok": True}


def code(payload):
    return payload.get("error", {}).get("details", {}).get("code")


def result(answer):
    if answer is None:
        return {"fault": {"code": "closed", "pointer": ""}}
    payload = answer["payload"]
    if "error" in payload:
        return {"fault": {"pointer": ""} | payload["error"].get("details", {})}
    return {"receipt": payload["receipt"]} if "receipt" in payload else {"ok": True}


def settled(answer):
    done = result(answer)
    return done if "fault" in done else {"ok": True}


def take(items, timeout_ms):
    try:
        return items.get(timeout=timeout_ms / 1000)
    except queue.Empty:
        return {"nothing": True}
