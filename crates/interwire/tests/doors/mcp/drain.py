"""Hosts that wait while the exchange shuts down: `drain.py PROGRAM FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import anyio.to_thread
from exchange import Exchange
from hosts import Told, host


async def main(program: str, folder: str) -> None:
    folder = Path(folder)
    for transport, mode in (("http", "legacy"), ("http", "auto"), ("stdio", "legacy")):
        with Exchange(program, folder / f"{transport}-{mode}") as exchange:
            told = Told()
            ended: list = []
            try:
                async with host(transport, mode, exchange.url, "agent:waiting", program, told) as client:
                    waiting = anyio.Event()

                    async def progress(*_) -> None:
                        waiting.set()

                    async def wait() -> None:
                        try:
                            result = await client.call_tool(
                                "inbox", {"wait_ms": 3_000_000}, progress_callback=progress
                            )
                            ended.append(result.structured_content["code"])
                        except Exception as error:  # The link may end before the answer.
                            ended.append(type(error).__name__)

                    async with anyio.create_task_group() as group:
                        group.start_soon(wait)
                        with anyio.fail_after(60):
                            await waiting.wait()
                        await anyio.to_thread.run_sync(exchange.stop)
                        with anyio.fail_after(60):
                            while not ended:
                                await anyio.sleep(0.02)
                        group.cancel_scope.cancel()
            except* Exception as group:
                # The SDK may complain about the link that ended.
                assert ended, group
            print(transport, mode, ended, flush=True)
            # Beside the exchange the tool learns it from the link.
            wanted = ("draining", "unreachable") if transport == "stdio" else ("draining",)
            assert ended[0] in wanted, ended
    print("nobody kept the exchange from its end")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:3])
