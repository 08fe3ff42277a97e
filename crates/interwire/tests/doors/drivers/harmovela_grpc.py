"""Drives AEP sessions over gRPC (`harmovela.v1.HarmovelaTransport/Stream`) with grpcio. The message is learned by
reflection."""

import queue

import grpc
from door_driver import run
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from session_driver import Session

SERVICE = "harmovela.v1.HarmovelaTransport"


class Call:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(
            address, options=[("grpc.max_receive_message_length", 16 << 20)],
        )
        pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        method = pool.FindServiceByName(SERVICE).methods_by_name["Stream"]
        self.message = message_factory.GetMessageClass(method.input_type)
        self.out = queue.Queue()
        start = self.channel.stream_stream(
            f"/{SERVICE}/Stream",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self.message.FromString,
        )
        metadata = [("harmovela-version", "0.2"), ("harmovela-agent-id", "agent:b")]
        self.call = start(iter(self.out.get, None), metadata=metadata)

    def send(self, text):
        self.out.put(self.message(json_payload=text))

    def texts(self):
        for message in self.call:
            yield message.json_payload

    def cut(self):
        self.call.cancel()
        self.channel.close()

    def close(self):
        self.out.put(None)
        # The other side ends when it has heard everything.
        assert self.call.code() is grpc.StatusCode.OK, self.call.code()
        self.channel.close()


def driver(start):
    address = start["url"].removeprefix("http://").rstrip("/")
    return Session(start, lambda: Call(address))


if __name__ == "__main__":
    run(driver)
