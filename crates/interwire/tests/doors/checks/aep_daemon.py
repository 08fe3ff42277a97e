"""The AEP daemon's clients, as its SDK makes them, against the exchange: sockets that say nothing of what they
want, the HTTP API under both names, subscriptions that are polled and streamed.

usage: aep_daemon.py URL"""

import asyncio
import json
import socket
import struct
import sys

import httpx
import websockets

URL = sys.argv[1]
NOW = "2026-07-11T10:00:00Z"


def event(id, type="task.submitted", **more):
    return {"spec_version": "0.2", "id": id, "type": type, "source": "example:service", "created_at": NOW,
            "payload": {"task_id": id}, **more}


def check(what, is_so, seen):
    if not is_so:
        sys.exit(f"{what}: {seen}")


class Api:
    """The calls of the SDK: a base address, JSON in and out."""

    def __init__(self, base):
        self.base = base
        self.client = httpx.Client(timeout=30)

    def call(self, method, path, body=None):
        content = body if isinstance(body, str) or body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        answer = self.client.request(method, self.base + path, content=content, headers=headers)
        return answer.status_code, answer.json()

    def read(self, id):
        """A connection of its own, as command lines have."""
        answer = httpx.get(f"{self.base}/subscriptions/{id}/events").json()
        return [event["id"] for event in answer["events"]]


async def sockets(path, mark):
    address = URL.replace("http://", "ws://") + path
    connect = lambda: websockets.connect(address, subprotocols=["harmovela-0.2"])
    async with connect() as listener, connect() as speaker:
        check("subprotocol", listener.subprotocol == "harmovela-0.2", listener.subprotocol)
        sent = json.dumps(event(f"{mark}-ws"))
        await speaker.send(sent)
        heard = await asyncio.wait_for(listener.recv(), 30)
        check("a silent client hears everything, byte for byte", heard == sent, heard)
        answer = json.loads(await asyncio.wait_for(speaker.recv(), 30))
        check("a publish is answered", answer["type"] == "event.acknowledged", answer)
        asks = event(f"{mark}-sub", "subscription.requested", payload={"types": "memory.*"})
        await listener.send(json.dumps(asks))
        answer = json.loads(await asyncio.wait_for(listener.recv(), 30))
        check("a subscription is made", answer["type"] == "subscription.created", answer)
        await speaker.send(json.dumps(event(f"{mark}-unwanted")))
        wanted = json.dumps(event(f"{mark}-mem", "memory.fact.added", payload={"fact_id": "f", "value": 1}))
        await speaker.send(wanted)
        heard = await asyncio.wait_for(listener.recv(), 30)
        check("only what it asked for", heard == wanted, heard)
    # Sends and leaves without waiting for anything.
    async with connect() as emitter:
        await emitter.send(json.dumps(event(f"{mark}-emit")))


def http(api, mark):
    status, health = api.call("GET", "/healthz")
    check("health", status == 200 and health["status"] == "ok" and "id" in health["runtime"], health)
    status, made = api.call("POST", "/subscriptions", {"filter": {"types": "task.*"}})
    check("made", status == 201 and made["id"].startswith("sub_"), made)
    id = made["id"]
    check("filter", made["filter"] == {"types": "task.*"}, made)
    status, shown = api.call("GET", f"/subscriptions/{id}")
    check("shown", status == 200 and shown == made, shown)
    _, listed = api.call("GET", "/subscriptions")
    check("listed", made in listed["subscriptions"], listed)
    status, refused = api.call("POST", "/subscriptions", {"types": 42})
    check("no poison", status == 400 and refused["error"] and refused["code"] == "filter_malformed", refused)

    status, taken = api.call("POST", "/events", event(f"{mark}-1"))
    check("taken", status == 202 and taken["accepted"] is True and taken["id"] == f"{mark}-1", taken)
    for body in ["{", {"type": "task.submitted"}, event(f"{mark}-x", "bogus.type")]:
        status, refused = api.call("POST", "/events", body)
        right = status == 400 and refused["accepted"] is False and isinstance(refused["errors"], list)
        check("refused", right and refused["code"], refused)
    _, stats = api.call("GET", "/stats")
    check("stats", stats["pending"] >= 1 and stats["deadLettered"] == 0, stats)
    _, pending = api.call("GET", "/pending")
    check("pending", any(one["eventId"] == f"{mark}-1" and one["subscriptionId"] == id for one in pending["records"]), pending)
    _, dead = api.call("GET", "/dlq")
    check("no dead letters", dead["deadLettered"] == 0 and dead["records"] == [], dead)

    # Asks, gets the answer into its machine's memory, and dies without reading it.
    address = httpx.URL(api.base)
    lost = socket.create_connection((address.host, address.port))
    request = f"GET {address.path}/subscriptions/{id}/events HTTP/1.1\r\nHost: {address.host}\r\n\r\n"
    lost.sendall(request.encode())
    lost.recv(1)
    lost.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    lost.close()
    seen = []
    while not seen:
        seen = api.read(id)
    check("what did not arrive comes again", seen == [f"{mark}-1"], seen)
    check("what arrived does not", api.read(id) == [], "it did")

    with httpx.stream("GET", f"{api.base}/subscriptions/{id}/stream", headers={"Accept": "text/event-stream"},
                      timeout=30) as stream:
        lines = stream.iter_lines()
        check("stream", next(lines) == ": ok", "no comment")
        api.call("POST", "/events", event(f"{mark}-2"))
        data = next(line for line in lines if line.startswith("data: "))
        check("streamed", json.loads(data[len("data: "):])["id"] == f"{mark}-2", data)

    status, gone = api.call("DELETE", f"/subscriptions/{id}")
    check("deleted", status == 200 and gone == {"deleted": True}, gone)
    for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/stream")]:
        status, gone = api.call(method, f"/subscriptions/{id}{path}")
        check("gone", status == 404 and gone["error"] == "not found", gone)
    status, nowhere = api.call("GET", "/nope")
    check("no such route", status == 404 and nowhere["error"] == "not found", nowhere)


for path, mark in [("/harmovela", "h"), ("/aep", "a")]:
    asyncio.run(sockets(path, mark))
    http(Api(f"{URL}{path}/api"), mark)
print("all is as the SDK expects it")
