"""What reflection names is served, and health follows the drain. Prints `serving`, then waits for the end."""

import json
import queue
import sys

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

channel = grpc.insecure_channel(sys.argv[1])
database = ProtoReflectionDescriptorDatabase(channel)
pool = descriptor_pool.DescriptorPool(database)
services = sorted(database.get_services())
assert "interwire.v1.Exchange" in services and "grpc.health.v1.Health" in services, services
for name in services:
    for method in pool.FindServiceByName(name).methods:
        # Not even a message: whoever has the method answers something else than that it has none.
        call = channel.unary_unary(f"/{name}/{method.name}")
        try:
            call(b"", timeout=1)
        except grpc.RpcError as error:
            assert error.code() is not grpc.StatusCode.UNIMPLEMENTED, (name, method.name)
try:
    channel.unary_unary("/interwire.v1.Exchange/Nothing")(b"", timeout=5)
    raise AssertionError("a method that is not there answered")
except grpc.RpcError as error:
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED, error



def session(service, version):
    """One AEP session over a call: subscribes, publishes what it subscribed to, and ends its side."""
    message = message_factory.GetMessageClass(
        pool.FindServiceByName(service).methods_by_name["Stream"].input_type
    )
    stream = channel.stream_stream(
        f"/{service}/Stream",
        request_serializer=lambda one: one.SerializeToString(),
        response_deserializer=message.FromString,
    )
    out = queue.Queue()
    call = stream(iter(out.get, None), metadata=[("harmovela-version", version)])

    def ask(kind, payload):
        members = {"spec_version": "0.2", "id": f"{service}-{kind}", "type": kind, "source": "agent:x"}
        members |= {"created_at": "2026-11-30T16:00:00Z", "payload": payload}
        out.put(message(json_payload=json.dumps(members)))
        return json.loads(next(call).json_payload)["type"]

    assert ask("session.opened", {}) == "session.ready"
    assert ask("subscription.requested", {"types": "context.updated"}) == "subscription.created"
    heard = {ask("context.updated", {"context_key": "c"}), json.loads(next(call).json_payload)["type"]}
    assert heard == {"event.acknowledged", "context.updated"}, heard
    out.put(None)
    return call


for name in ("harmovela.v1.HarmovelaTransport", "aep.v1.AepTransport"):
    call = session(name, "0.2")
    assert [json.loads(one.json_payload)["type"] for one in call] == ["session.closed"]
    assert call.code() is grpc.StatusCode.OK, call.code()
    # How far the call was sent.
    assert dict(call.trailing_metadata())["x-harmovela-cursor"], call.trailing_metadata()
    try:
        session(name, "7")
        raise AssertionError("a version that is not spoken")
    except grpc.RpcError as error:
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error
        assert "unsupported_version" in error.details(), error

stub = health_pb2_grpc.HealthStub(channel)
serving, not_serving = (
    health_pb2.HealthCheckResponse.SERVING,
    health_pb2.HealthCheckResponse.NOT_SERVING,
)
request = health_pb2.HealthCheckRequest(service="interwire.v1.Exchange")
assert stub.Check(request).status == serving
try:
    stub.Check(health_pb2.HealthCheckRequest(service="nobody"))
    raise AssertionError("an unknown service has a health")
except grpc.RpcError as error:
    assert error.code() is grpc.StatusCode.NOT_FOUND, error
watched = stub.Watch(request)
assert next(watched).status == serving
print("serving", flush=True)
assert next(watched).status == not_serving
