"""Two hosts that know nothing but MCP work together, and the exchange is killed half way:
`conversation.py PROGRAM FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from exchange import Exchange
from hosts import call, fault, host


async def main(program: str, folder: str) -> None:
    folder = Path(folder)
    with Exchange(program, folder) as exchange:
        address = exchange.address
        planner = host("stdio", "auto", exchange.url, "agent:planner", program)
        worker = host("stdio", "legacy", exchange.url, "agent:worker", program)
        async with planner, worker:
            answers: dict = {}
            seen: list[str] = []

            async def on_progress(_progress: float, _total: float | None, message: str | None) -> None:
                seen.append(message or "")

            async def plan() -> None:
                result = await planner.call_tool(
                    "ask",
                    {"to": "agent:worker", "intent": "report.write", "text": "Write the report.", "timeout_ms": 120_000},
                    progress_callback=on_progress,
                )
                assert not result.is_error, result.content
                answers["plan"] = result.structured_content

            async with anyio.create_task_group() as group:
                group.start_soon(plan)
                [task] = (await call(worker, "inbox", wait_ms=60_000))["messages"]
                assert task["intent"] == "report.write" and task["from"] == "agent:planner", task
                await call(worker, "reply", message=task["id"], status="progress", percent=30, text="reading")
                with anyio.fail_after(60):
                    while not any("reading" in line for line in seen):
                        await anyio.sleep(0.02)
                exchange.kill()
                # Nobody is there: the tool says so, and the host lives on.
                gone = await fault(worker, "inbox")
                assert gone["code"] == "unreachable" and gone["retryable"], gone
                exchange = Exchange(program, folder, None, address)
                with exchange:
                    # What was not acknowledged is handed out again.
                    [again] = (await call(worker, "inbox", wait_ms=60_000))["messages"]
                    assert again["id"] == task["id"], again
                    replied = await call(
                        worker,
                        "reply",
                        message=again["id"],
                        text="Here it is.",
                        payload={"pages": 3},
                        delivery=again["delivery"],
                    )
                    assert replied["acknowledged"], replied
                    with anyio.fail_after(60):
                        while "plan" not in answers:
                            await anyio.sleep(0.02)
                    answer = answers["plan"]
                    assert answer["state"] == "completed", answer
                    assert '"pages":3' in answer["reply"]["envelope"], answer
                    assert answer["reply"]["cause"] == task["id"], answer
                    tree = (await call(planner, "trace", id=task["id"]))["trace"]
                    for word in ("report.write", "agent:worker", "agent:planner"):
                        assert word in tree or word.replace(":", ".") in tree, tree
                    assert (await call(worker, "inbox"))["messages"] == []
                    assert (await call(planner, "inbox"))["messages"], "the reply waits in the inbox as well"
    print("the report was written")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:3])
