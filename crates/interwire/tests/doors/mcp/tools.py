"""Every tool and resource, over both transports and both lifecycles: `tools.py URL PROGRAM`."""

from __future__ import annotations

import sys
import uuid

import anyio
from hosts import Told, call, envelope, fault, host

TOOLS = ["send", "ask", "inbox", "ack", "reply", "find", "trace"]


async def lists(client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS, tools
    for tool in tools:
        assert tool.description and len(tool.description) > 40, tool.name
        assert tool.input_schema["type"] == "object", tool.name
        assert tool.output_schema["type"] == "object", tool.name
    templates = (await client.list_resource_templates()).resource_templates
    addresses = {template.uri_template for template in templates}
    assert addresses == {
        "interwire://conversations/{id}",
        "interwire://tasks/{id}",
        "interwire://inbox/{party}",
    }, addresses


async def faults(client) -> None:
    refused = await fault(client, "send", to=7, nonsense=True)
    assert refused["code"] == "bad_request"
    assert {one["pointer"] for one in refused["errors"]} == {"/to", "/nonsense"}, refused
    refused = await fault(client, "send", text="hello")
    assert refused["pointer"] == "/to", refused
    refused = await fault(client, "send", envelope="{")
    assert refused["code"] == "malformed_json", refused
    refused = await fault(client, "send", envelope={"v": "1", "type": "task"})
    assert refused["errors"], refused
    assert (await fault(client, "reply", message="nothing-of-that-name"))["code"] == "not_found"
    assert (await fault(client, "trace", id="nothing-of-that-name"))["code"] == "not_found"
    refused = await fault(client, "ask", to="agent:nobody", timeout_ms=1)
    assert refused["code"] == "no_reply" and refused["retryable"], refused
    again = await fault(client, "ask", envelope=refused["asked"], timeout_ms=1)
    assert again["code"] == "no_reply", again
    results = (await call(client, "ack", deliveries=["x"]))["results"]
    assert not results[0]["ok"] and results[0]["fault"]["code"] == "not_found", results


async def messages(planner, worker, name: str) -> None:
    """A message in each dialect, taken, answered in its dialect, acknowledged."""
    worker_party = f"agent:worker-{name}"
    wanted = {
        "aee": ("completed", "event"),
        "aep": ("completed", "agent.message.sent"),
        "uai": ("completed", "uai.agent.message.v1"),
    }
    for dialect, (status, reply_type) in wanted.items():
        sent = await call(
            planner, "send", to=worker_party, dialect=dialect, text=f"hello in {dialect}", intent="greeting.say"
        )
        assert sent["receipt"]["id"], sent
        got = (await call(worker, "inbox", wait_ms=30_000))["messages"]
        assert len(got) == 1, got
        [message] = got
        assert message["dialect"] == dialect and message["envelope"] == sent["envelope"], message
        replied = await call(
            worker, "reply", message=message["id"], status=status, text="hello back", delivery=message["delivery"]
        )
        assert replied["acknowledged"], replied
        answer = (await call(planner, "inbox", wait_ms=30_000))["messages"]
        assert len(answer) == 1 and answer[0]["dialect"] == dialect, answer
        assert answer[0]["type"] == reply_type, answer[0]
        assert answer[0]["cause"] == message["id"], answer[0]
        assert answer[0]["conversation"] == message["conversation"], answer[0]
        acked = await call(planner, "ack", deliveries=[answer[0]["delivery"]])
        assert acked["results"][0]["ok"], acked
        tree = await call(planner, "trace", id=message["id"])
        assert message["id"] in tree["trace"] or "hello" in tree["trace"] or tree["trace"], tree
        as_object = await call(planner, "trace", id=message["id"], format="json")
        assert isinstance(as_object["trace"], dict), as_object
    assert (await call(worker, "inbox"))["messages"] == []
    # A text is sent byte for byte.
    own = sent["envelope"]
    repeat = await call(planner, "send", envelope=own)
    assert repeat["receipt"]["duplicate"], repeat
    # Handed back and taken again.
    await call(planner, "send", to=worker_party, text="again")
    [message] = (await call(worker, "inbox", wait_ms=30_000))["messages"]
    await call(worker, "ack", deliveries=[message["delivery"]], verdict="nack", retry_after_ms=0, reason="busy")
    [message] = (await call(worker, "inbox", wait_ms=30_000))["messages"]
    assert message["attempt"] == 2, message
    await call(worker, "ack", deliveries=[message["delivery"]], verdict="reject", reason="never")


async def asking(planner, worker, name: str) -> None:
    """In each dialect: a request, progress that the host sees, the end."""
    for dialect in ("aee", "aep", "uai"):
        answers: dict = {}
        seen: list = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            seen.append((progress, total, message))

        async def ask() -> None:
            result = await planner.call_tool(
                "ask",
                {"to": f"agent:worker-{name}", "dialect": dialect, "text": "add them", "payload": {"title": "sum"}}
                if dialect != "uai"
                else {"to": f"agent:worker-{name}", "dialect": dialect, "text": "add them"},
                progress_callback=on_progress,
            )
            assert not result.is_error, result.content
            answers["ask"] = result.structured_content

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            [message] = (await call(worker, "inbox", wait_ms=30_000))["messages"]
            for status, percent in (("accepted", 0), ("progress", 50)):
                if dialect == "uai" and status == "accepted":
                    continue
                await call(
                    worker, "reply", message=message["id"], status=status, percent=percent, text=f"at {percent}"
                )
            await call(
                worker,
                "reply",
                message=message["id"],
                status="completed",
                text="42",
                payload={"result": 42},
                delivery=message["delivery"],
            )
        answer = answers["ask"]
        assert answer["state"] == "completed", answer
        assert answer["reply"]["from"] == f"agent:worker-{name}", answer
        assert "42" in answer["reply"]["envelope"], answer
        if dialect != "uai":
            assert any("at 50" in (message or "") for _, _, message in seen), seen
            assert [progress for progress, _, _ in seen] == sorted(progress for progress, _, _ in seen), seen
        task = answer["task"]
        read = await planner.read_resource(f"interwire://tasks/{task}")
        assert '"completed"' in read.contents[0].text, read
        conversation = answer["reply"].get("conversation")
        if conversation:
            read = await planner.read_resource(f"interwire://conversations/{conversation}")
            assert read.contents[0].text, read
    listed = (await planner.list_resources()).resources
    addresses = [str(resource.uri) for resource in listed]
    assert addresses[0] == f"interwire://inbox/agent:planner-{name}", addresses
    assert any(address.startswith("interwire://tasks/") for address in addresses), addresses
    found = await call(planner, "find", query=f"worker-{name}")
    assert [agent["party"] for agent in found["agents"]] == [f"agent:worker-{name}"], found
    assert found["agents"][0]["tasks"]["worked_on"] >= 3, found


async def waking(planner, worker, told: Told, name: str, mode: str) -> None:
    """Something that came wakes the host; it never asks."""
    inbox = f"interwire://inbox/agent:worker-{name}"
    if mode == "auto":
        async with worker.listen(resource_subscriptions=[inbox]) as events:
            await call(planner, "send", to=f"agent:worker-{name}", text="wake up")
            with anyio.fail_after(60):
                async for event in events:
                    assert str(event.uri) == inbox, event
                    if (await call(worker, "inbox"))["messages"]:
                        break
        return
    # Without a subscription the log says it; with one, the subscription.
    await call(planner, "send", to=f"agent:worker-{name}", text="wake up")
    await told.until(lambda told: any(data.get("resource") == inbox for data in told.logged))
    await worker.subscribe_resource(inbox)
    logged = len(told.logged)
    await call(planner, "send", to=f"agent:worker-{name}", text="wake up again")
    await told.until(lambda told: inbox in told.updated)
    assert len(told.logged) == logged, told.logged
    await worker.unsubscribe_resource(inbox)
    assert len((await call(worker, "inbox"))["messages"]) == 2


async def giving_up(worker, planner, name: str) -> None:
    """A wait that is given up keeps nothing: what comes later is there for the next call."""
    with anyio.move_on_after(0.5) as scope:
        await worker.call_tool("inbox", {"wait_ms": 600_000})
    assert scope.cancelled_caught
    await call(planner, "send", to=f"agent:worker-{name}", text="later")
    [message] = (await call(worker, "inbox", wait_ms=30_000))["messages"]
    # The exchange may have handed it to the wait before it learned that nobody waits; then it came back.
    assert "later" in message["envelope"], message
    await call(worker, "ack", deliveries=[message["delivery"]])


async def main(url: str, program: str) -> None:
    for transport in ("stdio", "http"):
        for mode in ("legacy", "auto"):
            name = f"{transport}-{mode}-{uuid.uuid4().hex[:8]}"
            told = Told()
            planner = host(transport, mode, url, f"agent:planner-{name}", program)
            worker = host(transport, mode, url, f"agent:worker-{name}", program, told)
            async with planner, worker:
                print(transport, mode, planner.protocol_version, flush=True)
                assert f"agent:planner-{name}" in planner.instructions
                await lists(planner)
                await faults(planner)
                await messages(planner, worker, name)
                await asking(planner, worker, name)
                await giving_up(worker, planner, name)
                await waking(planner, worker, told, name, mode)
    print("all tools answered")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:3])
