"""Drives an AEP session over WebSocket with the library `websockets`; JSON lines in, JSON lines out."""
import asyncio
import json
import sys
import uuid

import websockets

config = json.loads(sys.argv[1])
PARTY = config.get("party", "agent:b").replace("agent.", "agent:", 1)
SOURCE = "service:interwire"
URL = config["url"].replace("http", "ws", 1).rstrip("/") + "/harmovela"


class Session:
    def __init__(self):
        self.id = "sess_" + uuid.uuid4().hex
        self.socket = self.reader = self.last = self.follows = None
        self.reading = asyncio.Event()
        self.reading.set()

    async def connect(self):
        self.live, self.taken, self.answers = asyncio.Queue(), asyncio.Queue(), asyncio.Queue()
        self.attempts, self.seen = {}, {}
        self.socket = await websockets.connect(
            URL, subprotocols=["harmovela-0.2"], max_size=None, max_queue=1, compression=None)
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        attempt = 1
        try:
            while True:
                await self.reading.wait()
                text = await self.socket.recv()
                event = json.loads(text)
                kind, payload = event.get("type", ""), event.get("payload") or {}
                if event.get("source") != SOURCE or kind.startswith("task."):
                    self.last = event.get("id", self.last)
                    item = {"envelope": text, "attempt": attempt, "delivery": event.get("id")}
                    await (self.live if self.follows else self.taken).put(item)
                    attempt = 1
                elif kind == "event.redelivered":
                    attempt = payload["attempt"]
                elif event.get("causation_id") or kind.endswith(".rejected"):
                    await self.answers.put(event)
                elif kind in ("state.invalidated", "session.closed", "session.error"):
                    await self.live.put({"control": {"type": kind, **payload}})
        except websockets.ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else None
            await self.live.put({"control": {"type": "closed", "code": code}})
            await self.answers.put(None)

    async def ask(self, text):
        await self.socket.send(text)
        return await asyncio.wait_for(self.answers.get(), 30)

    def event(self, kind, payload, **more):
        return json.dumps({"spec_version": "0.2", "id": "evt_" + uuid.uuid4().hex, "type": kind,
                           "source": PARTY, "created_at": "2026-07-01T12:00:00Z", "payload": payload, **more})

    async def open(self, **more):
        return await self.ask(self.event("session.opened", {"session_id": self.id, **more}))


def result(answer):
    if answer is None:
        return {"fault": {"code": "closed", "pointer": ""}}
    payload = answer["payload"]
    if "error" in payload:
        details = payload["error"].get("details", {})
        return {"fault": {"code": details.get("code"), "pointer": details.get("pointer", ""), **details}}
    return {"receipt": payload["receipt"]} if "receipt" in payload else {"ok": True}


async def take(queue, timeout_ms):
    try:
        return await asyncio.wait_for(queue.get(), timeout_ms / 1000)
    except asyncio.TimeoutError:
        return {"nothing": True}


async def do(session, request):
    op = request["op"]
    if op in ("publish", "raw"):
        return result(await session.ask(request["envelope" if op == "publish" else "text"]))
    if op == "follow":
        session.follows = request.get("filter") or {}
        wish = {("types" if k == "type" else k): v for k, v in session.follows.items()} or {"types": "*"}
        if request.get("from"):
            wish["from_cursor"] = request["from"]
        await session.open()
        return result(await session.ask(session.event("subscription.requested", wish)))
    if op == "next":
        item = await take(session.live, request["timeout_ms"])
        if "envelope" in item:
            return {"envelope": item["envelope"], "cursor": item["delivery"]}
        return item
    if op == "consume":
        return result(await session.open(delivery_mode="at_least_once"))
    if op == "take":
        return await take(session.taken, request["timeout_ms"])
    if op in ("ack", "nack"):
        payload = {"acknowledged_event_id": request["delivery"]}
        kind = "event.acknowledged"
        if op == "nack":
            kind = "event.rejected"
            payload["error"] = {"code": "internal_error", "message": "not now", "retryable": True}
        answer = result(await session.ask(session.event(kind, payload)))
        return answer if "fault" in answer else {"ok": True}
    if op == "cut":
        session.reader.cancel()
        session.socket.transport.abort()
        return {"ok": True}
    if op == "resume":
        await session.connect()
        more = {"last_event_id": session.last} if session.last and session.follows else {}
        return result(await session.open(**more))
    if op in ("stall", "unstall"):
        (session.reading.clear if op == "stall" else session.reading.set)()
        return {"ok": True}
    if op == "end":
        await session.socket.close()
        return {"ok": True}
    return {"cannot": f"no operation {op}"}


async def main():
    session = Session()
    await session.connect()
    print(json.dumps({"ready": True}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        request = json.loads(line)
        print(json.dumps(await do(session, request)), flush=True)
        if request["op"] == "end":
            return


asyncio.run(main())
