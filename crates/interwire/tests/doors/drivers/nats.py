"""A foreign agent on NATS, with nats-py: one JSON request a line in, one JSON answer a line out.

Start with {"url": "nats://...", "party": "agent.b", "prefix": "aep", "stream": "interwire"}.
`publish` asks the exchange and gives its receipt or fault; with "how": "stream" it publishes into the
JetStream stream and waits for the stream's confirmation, again and again until it comes.
"""

import asyncio
import json

import nats
from bus_driver import NO_LEASE, header, matches, reply, run, spelled
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy


class Driver:
    def __init__(self, options):
        self.url = options["url"]
        self.party = options.get("party", "agent.b")
        self.prefix = options.get("prefix", "aep")
        self.stream = options.get("stream", "interwire")
        self.filter, self.cursor, self.reader, self.waiting = None, None, None, []
        self.place, self.queue, self.held = None, None, {}

    async def connected(self):
        async def quiet(_):
            pass

        self.nc = await nats.connect(
            self.url, max_reconnect_attempts=-1, reconnect_time_wait=0.1, error_cb=quiet
        )
        self.js = self.nc.jetstream(timeout=2)

    def subject(self, text):
        facts = header(text)
        kind = facts.get("type") or facts.get("profile") or "unknown"
        return f"{self.prefix}.type.{kind}"

    async def publish(self, request):
        text = request.get("envelope", request.get("text", ""))
        if request.get("how") == "stream":
            headers = {"Nats-Msg-Id": header(text).get("id", "")} if header(text).get("id") else None
            while True:
                try:
                    subject = request.get("subject") or self.subject(text)
                    ack = await self.js.publish(subject, text.encode(), headers=headers)
                    return {"sent": True, "duplicate": bool(ack.duplicate), "sequence": ack.seq}
                except Exception:
                    await asyncio.sleep(0.1)
        subject = request.get("subject") or f"{self.prefix}.publish"
        if request.get("how") == "core":
            await self.nc.publish(subject, text.encode())
            return {"sent": True}
        answer = await self.nc.request(subject, text.encode(), timeout=10)
        return json.loads(answer.data)

    async def make(self, request):
        """A stream of one's own, before the exchange comes."""
        await self.js.add_stream(name=request["name"], subjects=request["subjects"])
        return {"ok": True}

    async def listen(self, request):
        self.listening = await self.nc.subscribe(request["subject"])
        await self.nc.flush()
        return {"ok": True}

    async def heard(self, request):
        try:
            message = await self.listening.next_msg(timeout=request.get("timeout_ms", 5000) / 1000)
        except Exception:
            return {"nothing": True}
        return {"text": message.data.decode(), "headers": dict(message.headers or {})}

    async def follow(self, request):
        self.filter, self.cursor = request.get("filter"), request.get("from")
        if self.cursor is None:
            self.cursor = str((await self.js.stream_info(self.stream)).state.last_seq)
        await self.read_from(self.cursor)
        return {"ok": True}

    async def read_from(self, cursor):
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=int(cursor) + 1
        )
        config.ack_policy, config.inactive_threshold = AckPolicy.EXPLICIT, 60
        info = await self.js.add_consumer(self.stream, config)
        self.reader = await self.js.pull_subscribe_bind(consumer=info.name, stream=self.stream)
        self.waiting = []

    async def next(self, request):
        left = request.get("timeout_ms", 1000) / 1000
        end = asyncio.get_running_loop().time() + left
        while True:
            while self.waiting:
                message = self.waiting.pop(0)
                sequence = message.metadata.sequence.stream
                if self.cursor is not None and sequence <= int(self.cursor):
                    continue
                self.cursor = str(sequence)
                text = message.data.decode()
                if message.subject != f"{self.prefix}.faults" and matches(self.filter, text):
                    headers = dict(message.headers or {})
                    return {"envelope": text, "cursor": self.cursor, "headers": headers,
                            "subject": message.subject}
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                return {"nothing": True}
            try:
                self.waiting = await self.reader.fetch(100, timeout=min(left, 1))
                for message in self.waiting:
                    await message.ack()
            except nats.errors.TimeoutError:
                pass
            except Exception:
                # The server is away, or came back without this ephemeral reader: begin at the cursor.
                await asyncio.sleep(0.2)
                try:
                    await self.read_from(self.cursor)
                except Exception:
                    pass

    async def consume(self, request):
        self.place = spelled(request["place"])
        durable = "place-" + "".join(c if c.isalnum() else "_" for c in self.place)
        config = ConsumerConfig(ack_wait=request.get("lease_ms", 30000) / 1000)
        self.queue = await self.js.pull_subscribe(
            "", durable=durable, stream=self.stream, config=config
        )
        return {"ok": True}

    async def take(self, request):
        end = asyncio.get_running_loop().time() + request.get("timeout_ms", 1000) / 1000
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                [message] = await self.queue.fetch(1, timeout=left)
            except nats.errors.TimeoutError:
                break
            text = message.data.decode()
            if message.subject == f"{self.prefix}.faults" or not matches({"target": [self.place]}, text):
                await message.ack()
                continue
            # Where the server wants to hear of it.
            self.held[message.reply] = message
            return {
                "envelope": text,
                "delivery": message.reply,
                "attempt": message.metadata.num_delivered,
            }
        return {"nothing": True}

    async def ack(self, request):
        """Answers the sender, and then confirms to the server."""
        message = self.held.pop(request["delivery"], None)
        if message is not None:
            answer = await self.publish({"envelope": reply(message.data.decode())})
            if "receipt" not in answer:
                return answer
        try:
            await self.nc.request(request["delivery"], b"+ACK", timeout=5)
        except nats.errors.NoRespondersError:
            return NO_LEASE
        return {"ok": True}

    async def nack(self, request):
        message = self.held.pop(request["delivery"], None)
        if message is None:
            return NO_LEASE
        await message.nak(delay=request.get("retry_after_ms", 0) / 1000 or None)
        return {"ok": True}

    async def cut(self, _):
        # No farewell: the socket goes, and nothing of this connection is used again.
        self.nc._transport.close()
        self.nc.options["allow_reconnect"] = False
        self.held = {}
        return {"ok": True}

    async def resume(self, _):
        await self.connected()
        if self.filter is not None or self.cursor is not None:
            await self.read_from(self.cursor)
        if self.place is not None:
            await self.consume({"place": self.place})
        return {"ok": True}

    async def end(self, _):
        await self.nc.close()
        return {"ok": True}


run(Driver)
