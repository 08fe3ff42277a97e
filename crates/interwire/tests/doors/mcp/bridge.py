"""Tools of an MCP server as asynchronous tools of the exchange: `bridge.py PROGRAM FOLDER`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import anyio
from exchange import Exchange
from hosts import call, envelope, host


class Caller:
    """An agent that calls tools through the exchange, and reads what it is told."""

    def __init__(self, client) -> None:
        self.client = client
        self.heard: list[dict] = []

    async def request(self, tool: str, arguments: dict, **payload) -> str:
        sent = await call(
            self.client,
            "send",
            dialect="aep",
            to="tool:slow",
            type="tool.call.requested",
            payload={"protocol": "mcp", "tool": tool, "arguments": arguments, **payload},
        )
        return sent["receipt"]["id"]

    async def cancel(self, request: str, reason: str) -> None:
        await call(
            self.client,
            "send",
            dialect="aep",
            to="tool:slow",
            type="tool.call.cancel.requested",
            cause=request,
            payload={"reason": reason},
        )

    async def until(self, request: str, *kinds: str) -> dict:
        """Reads on until one of these was said about the request."""
        while True:
            for message in self.heard:
                if message["cause"] == request and message["type"] in kinds:
                    return envelope(message)
            got = (await call(self.client, "inbox", max=50, wait_ms=60_000))["messages"]
            assert got, "nothing came for a minute"
            self.heard += got
            await call(self.client, "ack", deliveries=[message["delivery"] for message in got])

    def said(self, request: str) -> list[str]:
        kinds = [message["type"].removeprefix("tool.call.") for message in self.heard if message["cause"] == request]
        # How many reports of progress come depends on the machine.
        return [kind for at, kind in enumerate(kinds) if kind != "progress" or kinds[at - 1] != "progress"]


def log(folder: Path) -> list[str]:
    path = folder / "log"
    return path.read_text().splitlines() if path.exists() else []


async def until(condition) -> None:
    with anyio.fail_after(60):
        while not condition():
            await anyio.sleep(0.02)


async def living(exchange: Exchange, program: str, folder: Path) -> None:
    async with host("http", "auto", exchange.url, "agent:caller", program) as client:
        caller = Caller(client)
        # The tools are announced, and found.
        await until_found(client)
        # Progress while it runs, then the output and the end.
        request = await caller.request("count", {"steps": 2})
        progress = await caller.until(request, "tool.call.progress")
        assert progress["payload"] == {
            "progress": 0.5,
            "current": 1.0,
            "total": 2.0,
            "message": "step 1 of 2",
        }, progress
        assert progress["correlation_id"] and progress["conversation_id"], progress
        for step in (1, 2):
            (folder / f"log.{step}").touch()
        done = await caller.until(request, "tool.call.completed")
        assert done["payload"]["result"] == {"counted": 2}, done
        assert caller.said(request) == ["accepted", "started", "progress", "output", "completed"]
        for step in (1, 2):
            (folder / f"log.{step}").unlink()
        # Called off in the middle: the server hears it too.
        request = await caller.request("count", {"steps": 3})
        await caller.until(request, "tool.call.progress")
        await caller.cancel(request, "changed my mind")
        cancelled = await caller.until(request, "tool.call.cancelled")
        assert cancelled["payload"]["reason"] == "changed my mind", cancelled
        await until(lambda: "count cancelled" in log(folder))
        # Out of time.
        request = await caller.request("count", {"steps": 3}, timeout_ms=200)
        late = await caller.until(request, "tool.call.timed_out")
        assert late["payload"]["error"]["code"] == "tool_timeout", late
        # Failing, and what cannot be run at all.
        request = await caller.request("fail", {})
        failed = await caller.until(request, "tool.call.failed")
        assert failed["payload"]["error"]["code"] == "tool_error", failed
        assert "fail" in failed["payload"]["error"]["message"], failed
        for tool, arguments, payload in (
            ("no-such-tool", {}, {}),
            ("count", [1], {}),
            ("count", {}, {"server": "other"}),
        ):
            request = await caller.request(tool, arguments, **payload)
            await caller.until(request, "tool.call.rejected")
            assert caller.said(request) == ["rejected"]
        # What is no call becomes a dead letter instead of staying.
        await call(client, "send", to="tool:slow", text="hello")
        # The server dies in the middle, is told of, and is started again.
        request = await caller.request("die", {})
        failed = await caller.until(request, "tool.call.failed")
        assert failed["payload"]["error"]["retryable"] is True, failed
        (folder / "log.again").touch()
        request = await caller.request("harmless", {"gate": "again"})
        await caller.until(request, "tool.call.completed")
        assert len([line for line in log(folder) if line.startswith("started")]) == 2


async def until_found(client) -> None:
    with anyio.fail_after(60):
        while True:
            found = (await call(client, "find", query="slow count"))["agents"]
            if found:
                break
            await anyio.sleep(0.05)
    [agent] = found
    assert agent["party"] == "tool:slow", agent
    tools = {skill["id"]: skill for skill in agent["cards"]["aep"]["skills"]}
    assert set(tools) == {"count", "harmless", "fail", "die"}, tools
    assert tools["count"]["inputSchema"]["properties"]["steps"], tools["count"]


async def killing(program: str, folder: Path, config: Path) -> None:
    """SIGKILL of the exchange in the middle of two calls, and again."""
    with Exchange(program, folder, config) as exchange:
        address = exchange.address
        async with host("http", "auto", exchange.url, "agent:killer", program) as client:
            caller = Caller(client)
            harmful = await caller.request("count", {"steps": 1})
            harmless = await caller.request("harmless", {"gate": "open"})
            await caller.until(harmful, "tool.call.progress")
            await caller.until(harmless, "tool.call.started")
            before = list(caller.heard)
            await until(lambda: "harmless" in log(folder))
        exchange.kill()
    (folder / "log.open").touch()
    with Exchange(program, folder, config, address) as exchange:
        async with host("http", "auto", exchange.url, "agent:killer", program) as client:
            caller = Caller(client)
            # Nobody knows what the first did: it says so. The second does no harm: it runs again.
            failed = await caller.until(harmful, "tool.call.failed")
            assert "interrupted" in failed["payload"]["error"]["message"], failed
            assert failed["payload"]["error"]["retryable"] is True, failed
            done = await caller.until(harmless, "tool.call.completed")
            assert "no harm done" in json.dumps(done["payload"]["result"]), done
            heard = before + caller.heard
            for request in (harmful, harmless):
                ends = {"tool.call.completed", "tool.call.failed", "tool.call.cancelled", "tool.call.timed_out"}
                said = {message["id"]: message["type"] for message in heard if message["cause"] == request}
                assert len([kind for kind in said.values() if kind in ends]) == 1, said
                assert len([kind for kind in said.values() if kind == "tool.call.accepted"]) == 1, said
        exchange.stop()
    # After its end nothing is owed to the tool any more.
    with Exchange(program, folder, None, address) as exchange:
        async with host("http", "auto", exchange.url, "tool:slow", program) as client:
            assert (await call(client, "inbox"))["messages"] == []


async def over_http(program: str, folder: Path) -> None:
    """A server at an address, which comes later than the exchange and goes away in the middle."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "http.toml"
    config.write_text(f'[[mcp.servers]]\nname = "slow"\nurl = "http://127.0.0.1:{port}/mcp"\n')
    environment = dict(os.environ, SLOW_LOG=str(folder / "http.log"))
    command = [sys.executable, str(Path(__file__).with_name("slow_server.py")), str(port)]
    with Exchange(program, folder / "http", config) as exchange:
        async with host("http", "auto", exchange.url, "agent:caller", program) as client:
            caller = Caller(client)
            # Asked for before the server is there: it waits.
            early = await caller.request("count", {"steps": 1})
            server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                await caller.until(early, "tool.call.progress")
                await caller.cancel(early, "enough")
                await caller.until(early, "tool.call.cancelled")
                (folder / "http.log.1").touch()
                request = await caller.request("count", {"steps": 1})
                done = await caller.until(request, "tool.call.completed")
                assert done["payload"]["result"] == {"counted": 1}, done
                request = await caller.request("die", {})
                failed = await caller.until(request, "tool.call.failed")
                assert failed["payload"]["error"]["retryable"] is True, failed
                server.wait()
                request = await caller.request("count", {"steps": 1})
                server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                await caller.until(request, "tool.call.completed", "tool.call.failed")
                request = await caller.request("count", {"steps": 1})
                await caller.until(request, "tool.call.completed")
            finally:
                server.kill()
                server.wait()
        exchange.stop()


async def main(program: str, folder: str) -> None:
    folder = Path(folder)
    config = folder / "interwire.toml"
    config.write_text(
        f"""
[[mcp.servers]]
name = "slow"
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(Path(__file__).with_name("slow_server.py")))}]
env = {{ SLOW_LOG = {json.dumps(str(folder / "log"))} }}
timeout_ms = 60_000
"""
    )
    with Exchange(program, folder, config) as exchange:
        await living(exchange, program, folder)
        exchange.stop()
    print("the calls ran as they should", flush=True)
    await killing(program, folder, config)
    print("nothing was lost", flush=True)
    await over_http(program, folder)
    print("an address does as well as a program")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:3])
