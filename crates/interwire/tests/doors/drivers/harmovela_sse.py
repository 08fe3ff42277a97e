"""Drives AEP's binding to server-sent events (`/harmovela/events`): httpx posts lines, httpx-sse reads the stream."""

import httpx
import httpx_sse
from door_driver import Feed, run

PATH = "/harmovela/events"
CONTROLS = ("gap", "caught_up", "draining", "slow_consumer", "fault")


class Events:
    def __init__(self, start):
        self.url = start["url"]
        self.filter, self.last = {}, None
        self.feed, self.response = None, None
        self.client = self.connect()

    def connect(self):
        return httpx.Client(base_url=self.url, timeout=httpx.Timeout(60))

    def publish(self, envelope):
        headers = {"content-type": "application/x-ndjson"}
        answer = self.client.post(PATH, content=envelope.encode() + b"\n", headers=headers)
        result = answer.json()["results"][0]
        assert answer.status_code == (202 if "receipt" in result else 400), answer.text
        return {"fault": result["error"]["details"]} if "error" in result else {"receipt": result["receipt"]}

    def raw(self, text):
        return self.publish(text)

    def follow(self, filter, **members):
        self.filter = filter
        return self.open({"from": members["from"]} if members.get("from") else {}, {})

    def open(self, query, headers):
        params = [(name, value) for name, values in self.filter.items() for value in values]
        params += query.items()
        request = self.client.build_request(
            "GET", PATH, params=params, headers={"accept": "text/event-stream"} | headers,
        )
        response = self.client.send(request, stream=True)
        if not response.is_success:
            response.read()
            return {"fault": response.json()}
        self.feed, self.response = Feed(), response

        def read():
            yield from httpx_sse.EventSource(response).iter_sse()

        self.feed.start(read)
        return {"ok": True}

    def next(self, timeout_ms):
        event = self.feed.next(timeout_ms)
        if isinstance(event, dict):
            return event
        # Of an event its own id, of all else a cursor; either can be come back with.
        self.last = event.id or self.last
        if not event.data:
            # Only a cursor: no event by the standard, but this library shows it.
            return self.next(timeout_ms)
        if event.event in CONTROLS:
            return {"control": event.json() | {"kind": event.event, "cursor": event.id}}
        return {"envelope": event.data, "cursor": event.id}

    def consume(self, place):
        return {"cannot": "no deliveries: the binding is a stream of events and a way to send some"}

    def cut(self):
        if self.feed is not None:
            self.feed.is_cut = True
            stream = self.response.extensions["network_stream"]
            try:
                # Without a word, as a network does it.
                stream.get_extra_info("socket").shutdown(2)
            except OSError:
                pass  # The other side was first.
        self.client = self.connect()
        return {"ok": True}

    def resume(self):
        return self.open({}, {"last-event-id": self.last} if self.last else {})

    def stall(self):
        self.feed.reading.clear()
        return {"ok": True}

    def unstall(self):
        self.feed.reading.set()
        return {"ok": True}

    def end(self):
        self.client.close()
        return {"ok": True}


if __name__ == "__main__":
    run(Events)
