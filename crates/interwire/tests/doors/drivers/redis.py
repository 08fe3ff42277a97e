"""A foreign agent on Redis Streams, with redis-py: one JSON request a line in, one JSON answer a line out.

Start with {"url": "redis://...", "party": "agent.b", "prefix": "aep"}. `publish` adds to `<prefix>.events`
and waits for the exchange's answer in a stream of its own; with "how": "stream" it only waits for Redis,
again and again until Redis has it.
"""

import json
import time
import uuid

import redis
from bus_driver import NO_LEASE, matches, reply, run, spelled


def text_of(fields):
    return fields.get(b"body", b"").decode()


class Driver:
    def __init__(self, options):
        self.url = options["url"]
        self.prefix = options.get("prefix", "aep")
        self.party = options.get("party", "agent.b")
        self.events = f"{self.prefix}.events"
        self.replies = f"{self.prefix}.replies.{uuid.uuid4().hex}"
        self.reply = "0"
        self.filter, self.cursor, self.waiting, self.place = None, None, [], None
        self.held = {}
        self.connect()

    def connect(self):
        self.redis = redis.Redis.from_url(self.url, socket_timeout=15, protocol=2)

    def publish(self, request):
        text = request.get("envelope", request.get("text", ""))
        fields = {"body": text} if not request.get("bare") else {"other": text}
        stream = request.get("stream", self.events)
        if request.get("how") == "stream":
            while True:
                try:
                    return {"sent": True, "entry": self.redis.xadd(stream, fields).decode()}
                except redis.RedisError:
                    time.sleep(0.1)
        fields["interwire-reply"] = self.replies
        self.redis.xadd(stream, fields)
        answers = self.redis.xread({self.replies: self.reply}, count=1, block=10000)
        if not answers:
            raise TimeoutError("no answer")
        entry, fields = answers[0][1][0]
        self.reply = entry
        return json.loads(text_of(fields))

    def follow(self, request):
        self.filter, self.cursor = request.get("filter"), request.get("from")
        if self.cursor is None:
            last = self.redis.xrevrange(self.events, count=1)
            self.cursor = last[0][0].decode() if last else "0"
        self.waiting = []
        return {"ok": True}

    def next(self, request):
        end = time.monotonic() + request.get("timeout_ms", 1000) / 1000
        while True:
            while self.waiting:
                entry, fields = self.waiting.pop(0)
                self.cursor = entry.decode()
                text = text_of(fields)
                if matches(self.filter, text):
                    headers = {k.decode(): v.decode() for k, v in fields.items() if k != b"body"}
                    return {"envelope": text, "cursor": self.cursor, "headers": headers}
            left = end - time.monotonic()
            if left <= 0:
                return {"nothing": True}
            try:
                block = max(1, int(min(left, 1) * 1000))
                found = self.redis.xread({self.events: self.cursor}, count=100, block=block)
                self.waiting = found[0][1] if found else []
            except redis.RedisError:
                time.sleep(0.2)

    def read(self, request):
        found = self.redis.xrange(request["stream"])
        return {"bodies": [text_of(fields) for _, fields in found]}

    def pending(self, request):
        return {"pending": self.redis.xpending(self.events, request["group"])["pending"]}

    def grab(self, request):
        """Takes entries as another instance of the exchange would, and never confirms them."""
        found = self.redis.xreadgroup(request["group"], "gone", {self.events: ">"}, count=100)
        return {"count": len(found[0][1]) if found else 0}

    def consume(self, request):
        self.place, self.lease = spelled(request["place"]), request.get("lease_ms", 30000)
        try:
            self.redis.xgroup_create(self.events, self.place, id="0", mkstream=True)
        except redis.ResponseError:
            pass
        return {"ok": True}

    def take(self, request):
        end = time.monotonic() + request.get("timeout_ms", 1000) / 1000
        while time.monotonic() < end:
            claimed = self.redis.xautoclaim(
                self.events, self.place, self.party, self.lease, count=1
            )[1]
            if not claimed:
                found = self.redis.xreadgroup(
                    self.place, self.party, {self.events: ">"}, count=1, block=100
                )
                claimed = found[0][1] if found else []
            for entry, fields in claimed:
                if not matches({"target": [self.place]}, text_of(fields)):
                    self.redis.xack(self.events, self.place, entry)
                    continue
                state = self.redis.xpending_range(self.events, self.place, entry, entry, 1)
                attempt = state[0]["times_delivered"] if state else 1
                self.held[entry.decode()] = text_of(fields)
                return {"envelope": text_of(fields), "delivery": entry.decode(), "attempt": attempt}
        return {"nothing": True}

    def ack(self, request):
        """Answers the sender, and then confirms to Redis."""
        text = self.held.pop(request["delivery"], None)
        if text is not None:
            answer = self.publish({"envelope": reply(text)})
            if "receipt" not in answer:
                return answer
        try:
            confirmed = self.redis.xack(self.events, self.place, request["delivery"])
        except redis.ResponseError:
            confirmed = 0  # No entry is called like that.
        return {"ok": True} if confirmed else NO_LEASE

    def nack(self, request):
        # Redis has no word for it: the entry is made to look idle, so that the lease ends when asked.
        idle = max(0, self.lease - request.get("retry_after_ms", 0))
        claimed = self.redis.xclaim(
            self.events, self.place, self.party, 0, [request["delivery"]], idle=idle, justid=True
        )
        return {"ok": True} if claimed else NO_LEASE

    def cut(self, _):
        for connection in self.redis.connection_pool._available_connections:
            connection._sock and connection._sock.close()
        return {"ok": True}

    def resume(self, _):
        self.connect()
        self.waiting = []
        return {"ok": True}

    def end(self, _):
        self.redis.close()
        return {"ok": True}


run(Driver)
