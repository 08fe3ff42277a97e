"""Drives the HTTP door: httpx for requests, httpx-sse for the live stream."""

import httpx
import httpx_sse
from door_driver import Feed, run


def fault(response):
    problem = response.json()
    return {"fault": {name: problem.get(name) for name in ("code", "pointer", "detail", "rule")}}


class Http:
    def __init__(self, start):
        self.url = start["url"]
        self.filter, self.cursor, self.place = {}, None, None
        self.feed, self.response = None, None
        self.client = self.connect()

    def connect(self):
        return httpx.Client(base_url=self.url, timeout=httpx.Timeout(60))

    def publish(self, envelope):
        headers = {"content-type": "application/json"}
        response = self.client.post("/v1/messages", content=envelope.encode(), headers=headers)
        return {"receipt": response.json()} if response.is_success else fault(response)

    def raw(self, text):
        return self.publish(text)

    def follow(self, filter, **members):
        self.filter = filter
        return self.open({"from": members["from"]} if members.get("from") else {}, {})

    def open(self, query, headers):
        params = [(name, value) for name, values in self.filter.items() for value in values]
        params += query.items()
        request = self.client.build_request(
            "GET", "/v1/stream", params=params, headers={"accept": "text/event-stream"} | headers,
        )
        response = self.client.send(request, stream=True)
        if not response.is_success:
            response.read()
            return fault(response)
        feed = Feed()
        self.feed, self.response = feed, response

        def read():
            for event in httpx_sse.EventSource(response).iter_sse():
                yield {"event": event.event, "id": event.id, "data": event.data}

        feed.start(read)
        return {"ok": True}

    def next(self, timeout_ms):
        event = self.feed.next(timeout_ms)
        if "event" not in event:
            return event
        self.cursor = event["id"] or self.cursor
        if not event["data"]:
            # Only a cursor: no event by the standard, but this library shows it.
            return self.next(timeout_ms)
        if event["event"] == "message":
            return {"envelope": event["data"], "cursor": event["id"]}
        control = {"kind": event["event"], "cursor": event["id"]}
        data = httpx.Response(200, content=event["data"]).json()
        return {"control": data | control}

    def consume(self, place):
        self.place = place
        return {"ok": True}

    def take(self, timeout_ms):
        params = {"max": 1, "wait_ms": timeout_ms}
        response = self.client.get(f"/v1/inbox/{self.place}", params=params)
        if not response.is_success:
            return fault(response)
        for one in response.json()["deliveries"]:
            # The bytes as they stand in the answer, not what a parser makes of them.
            text = response.text
            start = text.index('"envelope":') + len('"envelope":')
            return {
                "envelope": text[start : text.rindex("}]}")],
                "delivery": one["delivery"],
                "attempt": one["attempt"],
            }
        return {"nothing": True}

    def settle(self, how, members):
        response = self.client.post(f"/v1/deliveries/{how}", json=members)
        if not response.is_success:
            return fault(response)
        result = response.json()["results"][0]
        return {"ok": True} if result["ok"] else {"fault": result["fault"]}

    def ack(self, delivery):
        return self.settle("ack", {"deliveries": [delivery]})

    def nack(self, delivery, retry_after_ms):
        members = {"deliveries": [delivery], "retry_after_ms": retry_after_ms}
        return self.settle("nack", members)

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
        return self.open({}, {"last-event-id": self.cursor} if self.cursor else {})

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
    run(Http)
