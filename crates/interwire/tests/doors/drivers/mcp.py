"""Driver of the MCP door for the contract suite: `mcp.py '{"url": ..., "party": ..., "transport": "http"|"stdio",
"program": ...}'`, then one JSON request a line on standard input and one answer a line.

MCP calls tools; it is no stream of envelopes. What a tool cannot do is answered with why.
"""

from __future__ import annotations

import json
import os
import sys

import anyio
import anyio.to_thread
from mcp import Client, StdioServerParameters

NO_STREAM = "no stream of envelopes: a host is told that a resource changed, and reads it"
NO_LINK = "a stateless MCP host has no link that could be cut: every request stands for itself, and its place is the inbox"


class Driver:
    def __init__(self, start: dict) -> None:
        self.start = start

    def host(self, party: str) -> Client:
        if self.start.get("transport", "http") == "stdio":
            program = self.start.get("program") or self.start["command"]
            server = StdioServerParameters(
                command=program, args=["mcp", "--url", self.start["url"], "--as", party], env=dict(os.environ)
            )
            return Client(server)
        return Client(f"{self.start['url']}/mcp?as={party}")

    async def answer(self, client: Client, request: dict) -> dict:
        match request["op"]:
            case "publish":
                return await self.publish(client, request["envelope"])
            case "raw":
                return await self.publish(client, request["text"])
            case "follow" | "next" | "hears":
                return {"cannot": NO_STREAM}
            case "consume":
                self.place = request["place"]
                return {"ok": True}
            case "take":
                return await self.take(client, request["timeout_ms"])
            case "ack" | "nack":
                return await self.settle(client, request)
            case "cut" | "resume" | "stall" | "unstall":
                return {"cannot": NO_LINK}
            case other:
                return {"cannot": f"this driver does not know {other}"}

    async def publish(self, client: Client, envelope: str) -> dict:
        result = await client.call_tool("send", {"envelope": envelope})
        if result.is_error:
            return {"fault": result.structured_content}
        return {"receipt": result.structured_content["receipt"]}

    async def take(self, client: Client, timeout_ms: int) -> dict:
        result = await client.call_tool("inbox", {"max": 1, "wait_ms": timeout_ms})
        if result.is_error:
            return {"fault": result.structured_content}
        for message in result.structured_content["messages"]:
            return {name: message[name] for name in ("envelope", "delivery", "attempt", "cursor")}
        return {"nothing": True}

    async def settle(self, client: Client, request: dict) -> dict:
        arguments = {"deliveries": [request["delivery"]], "verdict": request["op"]}
        if "retry_after_ms" in request:
            arguments["retry_after_ms"] = request["retry_after_ms"]
        result = await client.call_tool("ack", arguments)
        if result.is_error:
            return {"fault": result.structured_content}
        [settled] = result.structured_content["results"]
        return {"ok": True} if settled["ok"] else {"fault": settled["fault"]}


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


async def main() -> None:
    start = json.loads(sys.argv[1])
    driver = Driver(start)
    place = start.get("party", "agent:driver")
    # A host acts as one party: what it consumes is the inbox of that one.
    clients: dict[str, Client] = {}
    async with anyio.create_task_group():
        try:
            clients[place] = await driver.host(place).__aenter__()
            say({"ready": True})
            while line := await anyio.to_thread.run_sync(sys.stdin.readline):
                request = json.loads(line)
                if request["op"] == "end":
                    say({"ok": True})
                    break
                if request["op"] == "consume":
                    place = request["place"]
                    if place not in clients:
                        clients[place] = await driver.host(place).__aenter__()
                say(await driver.answer(clients[place], request))
        finally:
            for client in reversed(clients.values()):
                await client.__aexit__(None, None, None)


if __name__ == "__main__":
    anyio.run(main)
