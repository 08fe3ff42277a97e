"""Drives the WebSocket door with the websockets library, subprotocol `interwire.v1`."""

import itertools
import json
import queue
import threading

from door_driver import run
from websockets.sync.client import connect


class Socket:
    def __init__(self, start):
        self.url = start["url"].replace("http", "ws", 1).rstrip("/") + "/v1/socket"
        self.numbers = itertools.count()
        self.filter, self.cursor, self.place = {}, None, None
        self.open()

    def open(self):
        self.socket = connect(
            self.url, subprotocols=["interwire.v1"], max_size=None, max_queue=1, ping_interval=None,
        )
        self.answers, self.live, self.deliveries = {}, queue.Queue(), queue.Queue()
        self.reading = threading.Event()
        self.reading.set()
        self.is_cut = False
        threading.Thread(target=self.read, args=(self.socket,), daemon=True).start()

    def read(self, socket):
        try:
            for text in socket:
                self.sort(text)
                self.reading.wait()
        except Exception:
            pass
        if socket is self.socket and not self.is_cut:
            self.live.put({"control": {"kind": "ended"}})

    def sort(self, text):
        frame = json.loads(text)
        op, ref = frame["op"], frame.get("ref")
        if op == "deliver":
            # The bytes as they stand in the frame, not what a parser makes of them.
            start = text.index('"envelope":') + len('"envelope":')
            frame["envelope"] = text[start : self.end_of_value(text, start)]
            (self.deliveries if ref == "consume" else self.live).put(frame)
        elif op in ("gap", "caught_up", "draining", "slow_consumer"):
            if ref != "consume":
                self.live.put({"control": frame | {"kind": op}})
        else:
            # What could not be read has no reference; it is the one that waits.
            answers = self.answers.setdefault(ref, queue.Queue()) if ref else self.waiting
            answers.put(frame)

    @staticmethod
    def end_of_value(text, start):
        return json.JSONDecoder().raw_decode(text, start)[1]

    def ask(self, members, ref=None, envelope=None):
        ref = ref or f"r{next(self.numbers)}"
        self.waiting = answers = self.answers.setdefault(ref, queue.Queue())
        text = json.dumps(members | {"ref": ref})
        if envelope is not None:
            text = f'{text[:-1]},"envelope":{envelope}}}'
        self.socket.send(text)
        return answers.get(timeout=60)

    def publish(self, envelope):
        answer = self.ask({"op": "publish"}, envelope=envelope)
        return {"receipt": answer["receipt"]} if answer["op"] == "receipt" else refused(answer)

    def raw(self, text):
        self.waiting = queue.Queue()
        self.socket.send(text)
        return refused(self.waiting.get(timeout=60))

    def follow(self, filter, **members):
        self.filter = filter
        return self.subscribe({"from": members["from"]} if members.get("from") else {})

    def subscribe(self, members):
        self.live = queue.Queue()
        answer = self.ask({"op": "subscribe", "filter": self.filter} | members, ref="live")
        if answer["op"] != "subscribed":
            return refused(answer)
        self.cursor = answer["cursor"]
        return {"ok": True}

    def next(self, timeout_ms):
        try:
            event = self.live.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            return {"nothing": True}
        if "control" in event:
            self.cursor = event["control"].get("cursor") or self.cursor
            return event
        self.cursor = event["cursor"]
        return {"envelope": event["envelope"], "cursor": event["cursor"]}

    def consume(self, place):
        answer = self.ask({"op": "subscribe", "inbox": place, "max_in_flight": 1}, ref="consume")
        return {"ok": True} if answer["op"] == "subscribed" else refused(answer)

    def take(self, timeout_ms):
        try:
            frame = self.deliveries.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            return {"nothing": True}
        return {name: frame[name] for name in ("envelope", "delivery", "attempt")}

    def settle(self, members):
        answer = self.ask(members)
        if answer["op"] != "settled":
            return refused(answer)
        result = answer["results"][0]
        return {"ok": True} if result["ok"] else {"fault": result["fault"]}

    def ack(self, delivery):
        return self.settle({"op": "ack", "deliveries": [delivery]})

    def nack(self, delivery, retry_after_ms):
        members = {"deliveries": [delivery], "retry_after_ms": retry_after_ms}
        return self.settle({"op": "nack"} | members)

    def cut(self):
        self.is_cut = True
        try:
            # Without a word, as a network does it.
            self.socket.socket.shutdown(2)
        except OSError:
            pass  # The other side was first.
        return {"ok": True}

    def resume(self):
        self.open()
        return self.subscribe({"from": self.cursor} if self.cursor else {})

    def stall(self):
        self.reading.clear()
        return {"ok": True}

    def unstall(self):
        self.reading.set()
        return {"ok": True}

    def end(self):
        self.socket.close()
        return {"ok": True}


def refused(answer):
    problem = answer["fault"]
    return {"fault": {name: problem.get(name) for name in ("code", "pointer", "detail", "rule")}}


if __name__ == "__main__":
    run(Socket)
