"""What reflection names is served, and health follows the drain. Prints `serving`, then waits for the end."""

import sys

import grpc
from google.protobuf import descriptor_pool
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
