"""Drives the typed gRPC service with grpcio. Messages and services are learned by reflection, so that no
generated code stands between the test and what the exchange says of itself."""

import grpc
from door_driver import Feed, run
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from grpc_status import rpc_status

SERVICE = "interwire.v1.Exchange"


class Exchange:
    """The service as reflection describes it: one method per call."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(
            address,
            options=[
                ("grpc.max_receive_message_length", 16 << 20),
            ],
        )
        self.pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        self.service = self.pool.FindServiceByName(SERVICE)
        self.methods = {method.name: method for method in self.service.methods}

    def make(self, name, **members):
        return self.type(f"interwire.v1.{name}")(**members)

    def type(self, full_name):
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(full_name))

    def call(self, name, request):
        method = self.methods[name]
        answer = message_factory.GetMessageClass(method.output_type)
        path = f"/{SERVICE}/{name}"
        kinds = {
            (False, False): self.channel.unary_unary,
            (False, True): self.channel.unary_stream,
            (True, True): self.channel.stream_stream,
        }
        kind = kinds[(method.client_streaming, method.server_streaming)]
        start = kind(
            path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        return start(request)

    def problem(self, error):
        """The problem of a refused call."""
        status = rpc_status.from_call(error)
        if status is None or not status.details:
            return {"code": error.code().name.lower(), "detail": error.details()}
        problem = self.type("interwire.v1.Problem")()
        # Not Any.Unpack: the message comes from a pool of its own.
        problem.ParseFromString(status.details[0].value)
        return as_fault(problem)


def as_fault(problem):
    return {
        "code": problem.code,
        "pointer": problem.pointer,
        "detail": problem.detail,
        "rule": problem.rule,
        "retryable": problem.retryable,
    }


class Driver:
    def __init__(self, start):
        self.address = start["url"].removeprefix("http://").rstrip("/")
        self.exchange = Exchange(self.address)
        self.filter, self.cursor, self.place = {}, None, None
        self.stream, self.feed = None, None

    def publish(self, envelope):
        try:
            request = self.exchange.make("PublishRequest", envelope=envelope.encode())
            receipt = self.exchange.call("Publish", request)
        except grpc.RpcError as error:
            return {"fault": self.exchange.problem(error)}
        recipients = [{"party": one.party, "state": one.state} for one in receipt.recipients]
        members = {
            "id": receipt.id,
            "cursor": receipt.cursor,
            "dialect": receipt.dialect,
            "durability": receipt.durability,
            "duplicate": receipt.duplicate,
            "recipients": recipients,
        }
        return {"receipt": members}

    def follow(self, filter, **members):
        self.filter = filter
        return self.open(members.get("from"))

    def open(self, start):
        wanted = self.exchange.make("Filter", **self.filter)
        request = self.exchange.make("SubscribeRequest", filter=wanted)
        if start is not None:
            # `from` is a word of Python.
            setattr(request, "from", start)
        self.stream, self.feed = self.exchange.call("Subscribe", request), Feed()
        try:
            self.cursor = next(self.stream).cursor
        except grpc.RpcError as error:
            return {"fault": self.exchange.problem(error)}
        stream, exchange = self.stream, self.exchange

        def read():
            try:
                yield from stream
            except grpc.RpcError as error:
                yield {"control": {"kind": "fault", "fault": exchange.problem(error)}}

        self.feed.start(read)
        return {"ok": True}

    def next(self, timeout_ms):
        event = self.feed.next(timeout_ms)
        if isinstance(event, dict):
            return event
        self.cursor = event.cursor
        what = event.WhichOneof("event")
        if what == "message":
            message = event.message
            return {"envelope": message.envelope.decode(), "cursor": message.cursor}
        control = {"kind": what, "cursor": event.cursor}
        if what == "gap":
            gap = event.gap
            control |= {
                "from": getattr(gap, "from"),
                "to": gap.to,
                "count": gap.count,
                "exact": gap.exact,
                "reason": gap.reason,
            }
        return {"control": control}

    def take(self, timeout_ms):
        place = self.exchange.make("Place", inbox=self.place)
        request = self.exchange.make("PullRequest", place=place, max=1, wait_ms=timeout_ms)
        try:
            deliveries = self.exchange.call("Pull", request).deliveries
        except grpc.RpcError as error:
            return {"fault": self.exchange.problem(error)}
        for one in deliveries:
            return {
                "envelope": one.message.envelope.decode(),
                "delivery": one.delivery,
                "attempt": one.attempt,
            }
        return {"nothing": True}

    def settle(self, name, request):
        try:
            result = self.exchange.call(name, request).results[0]
        except grpc.RpcError as error:
            return {"fault": self.exchange.problem(error)}
        if result.HasField("problem"):
            return {"fault": as_fault(result.problem)}
        return {"ok": True}

    def cut(self):
        if self.stream is not None:
            self.feed.is_cut = True
            self.stream.cancel()
        self.exchange.channel.close()
        return {"ok": True}

    def resume(self):
        self.exchange = Exchange(self.address)
        return self.open(self.cursor)

    def raw(self, text):
        return self.publish(text)

    def consume(self, place):
        self.place = place
        return {"ok": True}

    def ack(self, delivery):
        return self.settle("Ack", self.exchange.make("AckRequest", deliveries=[delivery]))

    def nack(self, delivery, retry_after_ms):
        members = {"deliveries": [delivery], "retry_after_ms": retry_after_ms}
        return self.settle("Nack", self.exchange.make("NackRequest", **members))

    def stall(self):
        self.feed.reading.clear()
        return {"ok": True}

    def unstall(self):
        self.feed.reading.set()
        return {"ok": True}

    def end(self):
        return self.cut()


if __name__ == "__main__":
    run(Driver)
