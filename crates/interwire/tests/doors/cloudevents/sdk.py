"""Publishes envelopes and reads them with the CloudEvents SDK; every byte must come back."""

import json
import sys
from urllib.parse import quote

import httpx
from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

client = httpx.Client(base_url=sys.argv[1], timeout=30)
envelopes = json.load(sys.stdin)


class Bytes(JSONFormat):
    """The SDK's JSON format, but for data, which stays the bytes that came."""

    def read_data(self, body, datacontenttype):
        return body


def message(response):
    return http.HTTPMessage(headers=dict(response.headers), body=response.content)


def post(sent):
    response = client.post("/v1/messages", headers=sent.headers, content=sent.body)
    assert response.status_code in (200, 201), response.text
    return response


for text in envelopes:
    envelope = text.encode()
    # Published plainly, read as an event: its attributes are what a publisher has to say.
    plain = client.post("/v1/messages", content=envelope)
    assert plain.status_code == 201, plain.text
    path = "/v1/messages/" + quote(plain.json()["id"], safe="")
    structured = http.from_http_event(message(client.get(path, params={"as": "cloudevents"})))
    # The event of an envelope without space around it is read by everybody's JSON.
    data = structured.get_data()
    assert (json.loads(data) if isinstance(data, bytes) else data) == json.loads(text)
    encoded = http.from_http_event(
        message(client.get(path, params={"as": "cloudevents", "data": "base64"}))
    )
    assert encoded.get_data() == envelope
    binary = http.from_http_event(
        message(client.get(path, params={"as": "cloudevents-binary"})), Bytes()
    )
    assert binary.get_data() == envelope
    for event in (encoded, binary):
        assert event.get_id() == plain.json()["id"]
        assert event.get_source() and event.get_type() and event.get_time()
    # The same events sent again are known: nothing of them has changed.
    for sent in (http.to_structured_event(encoded), http.to_binary_event(binary)):
        assert post(sent).json()["duplicate"] is True
    other = CloudEvent(
        attributes={"id": "x", "source": "agent:eve", "type": "none", "specversion": "1.0"},
        data=envelope,
    )
    refused = client.post(
        "/v1/messages",
        headers=http.to_structured_event(other).headers,
        content=http.to_structured_event(other).body,
    )
    assert refused.status_code == 400, refused.text
    pointers = [error["pointer"] for error in refused.json()["errors"]]
    assert pointers == ["/id", "/source", "/type"], pointers

print(len(envelopes), "envelopes, 4 ways")
