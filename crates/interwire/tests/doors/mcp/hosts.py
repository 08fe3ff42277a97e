"""Hosts of the MCP door, made with the official Python SDK.

A host is reached over standard input and output (`interwire mcp`) or over streamable HTTP (`/mcp`), and
begins with `initialize` ("legacy") or speaks the stateless protocol ("auto").
"""

from __future__ import annotations

import json
import os
from typing import Any

import anyio
from mcp import Client, StdioServerParameters


class Told:
    """Everything a host was told without asking."""

    def __init__(self) -> None:
        self.updated: list[str] = []
        self.logged: list[Any] = []
        self._changed = anyio.Event()

    async def on_message(self, message: Any) -> None:
        kind = type(message).__name__
        if kind == "ResourceUpdatedNotification":
            self.updated.append(str(message.params.uri))
        self._wake()

    async def on_log(self, params: Any) -> None:
        self.logged.append(params.data)
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def until(self, condition) -> None:
        """Waits until what was told meets the condition."""
        with anyio.fail_after(60):
            while not condition(self):
                await self._changed.wait()


def host(transport: str, mode: str, url: str, party: str, program: str, told: Told | None = None) -> Client:
    """A host that is not yet connected."""
    told = told or Told()
    if transport == "http":
        server: Any = f"{url}/mcp?as={party}"
    else:
        server = StdioServerParameters(
            command=program, args=["mcp", "--url", url, "--as", party], env=dict(os.environ)
        )
    return Client(server, mode=mode, message_handler=told.on_message, logging_callback=told.on_log)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured result of a tool that must not fail."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def fault(client: Client, tool: str, **arguments: Any) -> Any:
    """The fault of a tool that must fail, as a result and not as an error of the protocol."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    problem = result.structured_content
    for name in ("code", "pointer", "detail"):
        assert isinstance(problem[name], str), problem
    assert problem["code"] in result.content[0].text
    return problem


def envelope(message: dict[str, Any]) -> Any:
    return json.loads(message["envelope"])
