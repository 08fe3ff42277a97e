"""A foreign agent on Kafka, with confluent-kafka: one JSON request a line in, one JSON answer a line out.

Start with {"url": "host:port", "party": "agent.b", "prefix": "aep"}. `publish` writes to `<prefix>.events`
and waits for the exchange's answer in a topic of its own; with "how": "stream" it only waits for the broker.
"""

import json
import os
import socket
import time
import uuid

from bus_driver import header, matches, reply, run, spelled
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

NO_LEASES = "no leases: a group commits an offset, and the broker takes any"
NO_NACK = "no word for one message: a group goes on from an offset"


class Driver:
    def __init__(self, options):
        self.url = options["url"]
        self.prefix = options.get("prefix", "aep")
        self.party = options.get("party", "agent.b")
        self.events = f"{self.prefix}.events"
        self.replies, self.reader, self.group = None, None, None
        self.filter, self.cursor, self.place, self.held = None, None, None, {}
        self.connect()

    def common(self):
        return {
            "bootstrap.servers": self.url,
            "reconnect.backoff.max.ms": 500,
            "error_cb": lambda _: None,
            "log_level": 0,
        }

    def connect(self):
        self.producer = Producer(
            self.common() | {"enable.idempotence": True, "acks": "all", "linger.ms": 0}
        )

    def consumer(self, group, more=None):
        return Consumer(
            self.common()
            | {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest",
               "session.timeout.ms": 6000, "fetch.wait.max.ms": 50}
            | (more or {})
        )

    def partitions(self, topic):
        # A producer asks: for it the broker makes a topic that is not there.
        end = time.monotonic() + 30
        while time.monotonic() < end:
            found = self.producer.list_topics(topic, timeout=10).topics[topic].partitions
            if found:
                return sorted(found)
            time.sleep(0.1)
        raise RuntimeError(f"no topic {topic}")

    def send(self, topic, value, headers=None):
        done = []
        facts = header(value or "")
        key = str(facts.get("conversation_id") or facts.get("corr") or "")
        self.producer.produce(
            topic, value=value, key=key, headers=headers,
            on_delivery=lambda error, message: done.append((error, message)),
        )
        while not done:
            self.producer.poll(1)
        return done[0]

    def publish(self, request):
        text = request.get("envelope", request.get("text", ""))
        value = None if request.get("bare") else text
        if request.get("how") == "stream":
            while True:
                error, message = self.send(request.get("topic", self.events), value)
                if error is None:
                    return {"sent": True, "partition": message.partition(), "offset": message.offset()}
        if self.replies is None:
            self.replies = f"{self.prefix}.replies.{uuid.uuid4().hex}"
            self.answers = self.consumer(self.replies)
            places = self.partitions(self.replies)
            self.answers.assign([TopicPartition(self.replies, p, OFFSET_BEGINNING) for p in places])
        self.send(self.events, value, {"interwire-reply": self.replies})
        end = time.monotonic() + 20
        while time.monotonic() < end:
            message = self.answers.poll(1)
            if message is not None and not message.error():
                return json.loads(message.value())
        raise TimeoutError("no answer")

    def follow(self, request):
        self.filter, start = request.get("filter"), request.get("from")
        if self.reader:
            self.reader.close()
        self.reader = self.consumer(uuid.uuid4().hex)
        self.cursor = json.loads(start) if start and start != "0" else {}
        topic = request.get("topic", self.events)
        places = []
        for p in self.partitions(topic):
            if str(p) not in self.cursor:
                low, high = self.reader.get_watermark_offsets(TopicPartition(topic, p), timeout=10)
                self.cursor[str(p)] = low if start == "0" or request.get("all") else high
            places.append(TopicPartition(topic, p, self.cursor[str(p)]))
        self.reader.assign(places)
        return {"ok": True}

    def next(self, request):
        end = time.monotonic() + request.get("timeout_ms", 1000) / 1000
        while (left := end - time.monotonic()) > 0:
            message = self.reader.poll(min(left, 0.5))
            if message is None or message.error():
                continue
            self.cursor[str(message.partition())] = message.offset() + 1
            text = (message.value() or b"").decode()
            if matches(self.filter, text):
                headers = {name: value.decode() for name, value in message.headers() or []}
                return {"envelope": text, "cursor": json.dumps(self.cursor), "headers": headers,
                        "key": (message.key() or b"").decode()}
        return {"nothing": True}

    def committed(self, request):
        """How many messages of the topic the group has not committed."""
        consumer = self.consumer(request["group"])
        topic, behind = request.get("topic", self.events), 0
        places = [TopicPartition(topic, p) for p in self.partitions(topic)]
        for place in consumer.committed(places, timeout=10):
            _, high = consumer.get_watermark_offsets(place, timeout=10)
            behind += high - max(place.offset, 0)
        consumer.close()
        return {"behind": behind}

    def consume(self, request):
        self.place = spelled(request["place"])
        self.group = self.consumer("place-" + self.place.replace(":", "-"))
        self.partitions(self.events)
        self.group.subscribe([self.events])
        return {"ok": True}

    def take(self, request):
        end = time.monotonic() + request.get("timeout_ms", 1000) / 1000
        while (left := end - time.monotonic()) > 0:
            message = self.group.poll(min(left, 0.5))
            if message is None or message.error():
                continue
            text = (message.value() or b"").decode()
            if matches({"target": [self.place]}, text):
                delivery = f"{message.topic()}:{message.partition()}:{message.offset()}"
                self.held[delivery] = text
                return {"envelope": text, "delivery": delivery, "attempt": 1}
        return {"nothing": True}

    def ack(self, request):
        """Answers the sender, and then commits."""
        text = self.held.pop(request["delivery"], None)
        if text is None:
            return {"cannot": NO_LEASES}
        answer = self.publish({"envelope": reply(text)})
        if "receipt" not in answer:
            return answer
        topic, partition, offset = request["delivery"].rsplit(":", 2)
        place = TopicPartition(topic, int(partition), int(offset) + 1)
        self.group.commit(offsets=[place], asynchronous=False)
        return {"ok": True}

    def nack(self, _):
        return {"cannot": NO_NACK}

    def cut(self, _):
        # The library has no word for it, so its sockets are shut down beneath it.
        port = int(self.url.rpartition(":")[2])
        for name in os.listdir("/proc/self/fd"):
            try:
                if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    continue
                with socket.socket(fileno=os.dup(int(name))) as one:
                    if one.family == socket.AF_INET and one.getpeername()[1] == port:
                        one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # The other side was first.
        return {"ok": True}

    def resume(self, _):
        if self.filter is not None:
            self.follow({"filter": self.filter, "from": json.dumps(self.cursor)})
        return {"ok": True}

    def end(self, _):
        for one in (self.reader, self.group):
            if one:
                one.close()
        return {"ok": True}


run(Driver)
