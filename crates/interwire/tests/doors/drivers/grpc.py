"""Drives the typed gRPC service with grpcio. Messages and services are learned by reflection, so that no
generated code stands between the test and what the exchange says of itself."""

import json
import queue
import sys
import threading

import grpc
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
            address, options=[("grpc.max_receive_message_length", 16 << 20)]
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
        self.stream, self.events = None, None
        self.reading = threading.Event()
        self.reading.set()

    def publish(self, text):
        try:
            request = self.exchange.make("PublishRequest", envelope=text.encode())
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

    def follow(self, pattern, start):
        self.filter = pattern
        wanted = self.exchange.make("Filter", **pattern)
        request = self.exchange.make("SubscribeRequest", filter=wanted)
        if start is not None:
            # `from` is a word of Python.
            setattr(request, "from", start)
        stream = self.exchange.call("Subscribe", request)
        events = queue.Queue(maxsize=1)
        self.stream, self.events = stream, events
        threading.Thread(target=self.read, args=(stream, events), daemon=True).start()
        kind, first = events.get()
        if kind == "fault":
            return {"fault": first}
        self.cursor = first.cursor
        return {"ok": True}

    def read(self, stream, events):
        try:
            for event in stream:
                self.reading.wait()
                events.put(("event", event))
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.CANCELLED:
                events.put(("fault", self.exchange.problem(error)))

    def next(self, timeout_ms):
        try:
            kind, event = self.events.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            return {"nothing": True}
        if kind == "fault":
            return {"control": {"kind": "fault", "fault": event}}
        self.cursor = event.cursor
        what = event.WhichOneof("event")
        if what == "message":
            message = event.message
            return {"envelope": message.envelope.decode(), "cursor": message.cursor}
        control = {"kind": what, "cursor": event.cursor}
        if what == "gap":
            gap = event.gap
            control |= {"from": getattr(gap, "from"), "to": gap.to, "count": gap.count,
                        "exact": gap.exact, "reason": gap.reason}
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
            self.stream.cancel()
        self.exchange.channel.close()
        return {"ok": True}

    def resume(self):
        self.exchange = Exchange(self.address)
        return self.follow(self.filter, self.cursor)

    def do(self, request):
        match request["op"]:
            case "publish":
                return self.publish(request["envelope"])
            case "raw":
                return self.publish(request["text"])
            case "follow":
                return self.follow(request.get("filter") or {}, request.get("from"))
            case "next":
                return self.next(request["timeout_ms"])
            case "consume":
                self.place = request["place"]
                return {"ok": True}
            case "take":
                return self.take(request["timeout_ms"])
            case "ack":
                deliveries = [request["delivery"]]
                return self.settle("Ack", self.exchange.make("AckRequest", deliveries=deliveries))
            case "nack":
                members = {"deliveries": [request["delivery"]]}
                if request.get("retry_after_ms") is not None:
                    members["retry_after_ms"] = request["retry_after_ms"]
                return self.settle("Nack", self.exchange.make("NackRequest", **members))
            case "cut":
                return self.cut()
            case "resume":
                return self.resume()
            case "stall":
                self.reading.clear()
                return {"ok": True}
            case "unstall":
                self.reading.set()
                return {"ok": True}
            case "end":
                return self.cut()
            case other:
                return {"cannot": f"no operation {other}"}


def main():
    driver = Driver(json.loads(sys.argv[1]))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(driver.do(request)), flush=True)
        if request["op"] == "end":
            return


if __name__ == "__main__":
    main()
