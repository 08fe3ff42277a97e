"""A small MCP server with tools that take their time. What it did is written to the file in SLOW_LOG."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("slow")


def note(text: str) -> None:
    with Path(os.environ["SLOW_LOG"]).open("a") as log:
        log.write(text + "\n")


note(f"started {os.getpid()}")


@server.tool()
async def count(steps: int, context: Context) -> dict[str, int]:
    """Counts in the open, and goes on only when the file SLOW_LOG.STEP exists for each step."""
    note(f"count {steps}")
    try:
        for step in range(1, steps + 1):
            await context.report_progress(step, steps, f"step {step} of {steps}")
            gate = Path(f"{os.environ['SLOW_LOG']}.{step}")
            while not gate.exists():
                await anyio.sleep(0.02)
    except anyio.get_cancelled_exc_class():
        note("count cancelled")
        raise
    note("count done")
    return {"counted": steps}


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
async def harmless(gate: str) -> str:
    """Waits for a gate; running it twice is as running it once."""
    note("harmless")
    while not Path(f"{os.environ['SLOW_LOG']}.{gate}").exists():
        await anyio.sleep(0.02)
    return "no harm done"


@server.tool()
async def fail() -> str:
    """Always fails."""
    raise ValueError("this tool fails")


@server.tool()
async def die() -> str:
    """Ends the server in the middle of the call."""
    note("dying")
    os._exit(3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
