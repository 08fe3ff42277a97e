"""Reads one AEE task over the typed service in every dialect, live and from an inbox."""

import json
import sys

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

channel = grpc.insecure_channel(sys.argv[1])
pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))


def make(name, **members):
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"interwire.v1.{name}"))()
    for member, value in members.items():
        member = member.rstrip("_")
        if isinstance(value, (str, bytes)):
            setattr(message, member, value)
        else:
            getattr(message, member).CopyFrom(value)
    return message


def call(name, request, answer, streams=False):
    kind = channel.unary_stream if streams else channel.unary_unary
    start = kind(
        f"/interwire.v1.Exchange/{name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=type(make(answer)).FromString,
    )
    return start(request, timeout=20)


task = json.dumps(
    {
        "v": "1", "id": "01KJHX7SJ00000000000000000", "ts": "2026-02-28T10:30:00Z", "type": "task",
        "from": "agent.a", "to": "agent.b", "intent": "demo.work", "corr": "01KJHX7SJ00000000000000000",
        "reply_to": None, "trace": None, "priority": "high", "requires": None, "payload": {"n": 1}, "sig": None,
    }
)
beat = json.dumps(
    {
        "spec_version": "0.2", "id": "evt_beat", "type": "session.heartbeat", "source": "agent:a",
        "target": "agent:b", "created_at": "2026-02-28T10:30:00Z", "payload": {},
    }
)
publish_many = channel.stream_stream(
    "/interwire.v1.Exchange/PublishMany",
    request_serializer=lambda message: message.SerializeToString(),
    response_deserializer=type(make("PublishResult")).FromString,
)
envelopes = (make("PublishRequest", envelope=text.encode()) for text in (task, "{}", beat))
results = [result.WhichOneof("result") for result in publish_many(envelopes, timeout=20)]
assert results == ["receipt", "problem", "receipt"], results

got = call("GetMessage", make("GetMessageRequest", id="01KJHX7SJ00000000000000000", as_="aep"), "Message")
assert got.dialect == "aep" and json.loads(got.envelope)["type"] == "task.submitted", got
own = call("GetMessage", make("GetMessageRequest", id="01KJHX7SJ00000000000000000", as_="native"), "Message")
assert own.dialect == "aee" and own.envelope.decode() == task
for wanted, code in (("latin", grpc.StatusCode.INVALID_ARGUMENT),):
    try:
        call("GetMessage", make("GetMessageRequest", id="evt_beat", as_=wanted), "Message")
        raise AssertionError("an unknown dialect was answered")
    except grpc.RpcError as error:
        assert error.code() is code, error

stream = call("Subscribe", make("SubscribeRequest", from_="earliest", as_="uai"), "SubscribeResponse", True)
messages = (event.message for event in stream if event.WhichOneof("event") == "message")
first, second = next(messages), next(messages)
assert json.loads(first.envelope)["profile"] == "uai.intent.request.v1", first
assert first.dialect == "uai" and not first.HasField("untranslated")
assert second.dialect == "aep" and second.untranslated.code == "not_translatable", second
stream.cancel()

place = make("Place", inbox="agent.b")
pulled = call("Pull", make("PullRequest", place=place, as_="aep"), "PullResponse")
seen = [json.loads(delivery.message.envelope)["type"] for delivery in pulled.deliveries]
assert seen == ["task.submitted"] or seen == ["task.submitted", "session.heartbeat"], seen
print("translated", flush=True)
