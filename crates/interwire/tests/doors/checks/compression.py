"""Sockets with and without permessage-deflate, as the library `websockets` asks for it.

usage: compression.py URL"""

import json
import sys

from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.sync.client import connect

BASE = sys.argv[1].replace("http", "ws", 1)


def check(what, is_so, seen):
    if not is_so:
        sys.exit(f"{what}: {seen}")


def envelope(id):
    return {"v": "1", "id": id, "ts": "2026-12-01T10:00:00Z", "type": "event", "from": "agent.a", "to": "agent.b",
            "intent": "test.compression", "corr": "CONV_COMPRESSION", "reply_to": None, "trace": None,
            "priority": "normal", "requires": None, "payload": {"text": "the same again, " * 2000, "é": [1.50]},
            "sig": None}


def play(number, **how):
    """Publishes and reads back, several times on one connection; the extensions that were agreed on."""
    with connect(f"{BASE}/v1/socket", subprotocols=["interwire.v1"], **how) as socket:
        socket.send('{"op":"subscribe","ref":"s","filter":{"intent":["test.compression"]},"from":"latest"}')
        check("subscribed", json.loads(socket.recv())["op"] == "subscribed", "")
        for one in range(3):
            text = json.dumps(envelope(f"COMPRESSION_{number}_{one}"), ensure_ascii=False)
            # In fragments, too.
            frame = f'{{"op":"publish","ref":"p","envelope":{text}}}'
            socket.send([frame[:9000], frame[9000:9001], frame[9001:]] if one == 1 else frame)
            seen = set()
            while not seen >= {"receipt", "deliver"}:
                answer = socket.recv()
                op = json.loads(answer)["op"]
                seen.add(op)
                if op == "deliver":
                    check("every byte", text in answer, answer[:300])
        socket.send('{"op":"ping"}')
        check("pong", json.loads(socket.recv())["op"] == "pong", "")
        # More than the exchange takes, although its frame is small.
        return [extension.name for extension in socket.protocol.extensions]


with_it = "permessage-deflate"
check("asked for", play(1) == [with_it], "not agreed")
check("not asked for", play(2, compression=None) == [], "agreed")
small = ClientPerMessageDeflateFactory(server_max_window_bits=9, client_max_window_bits=9)
check("small windows", play(3, extensions=[small], compression=None) == [with_it], "not agreed")
lone = ClientPerMessageDeflateFactory(server_no_context_takeover=True, client_no_context_takeover=True)
check("without context", play(4, extensions=[lone], compression=None) == [with_it], "not agreed")

with connect(f"{BASE}/v1/socket", subprotocols=["interwire.v1"]) as socket:
    socket.send('{"op":"publish","ref":"big","envelope":' + " " * (3 << 20) + "{}}")
    answer = json.loads(socket.recv())
    check("a large frame is a fault", answer["op"] == "fault", answer)
    socket.send(" " * (300 << 20))
    try:
        answer = socket.recv()
        check("a bomb ends the connection", False, answer)
    except Exception as error:
        check("a bomb is too large", getattr(error.rcvd, "code", None) == 1009, repr(error))

for compression, expected in [("deflate", [with_it]), (None, [])]:
    with connect(f"{BASE}/harmovela", subprotocols=["harmovela-0.2"], compression=compression) as socket:
        socket.send(json.dumps({"spec_version": "0.2", "id": "evt_open_1", "type": "session.opened",
                                "source": "agent:c", "created_at": "2026-12-01T10:00:00Z",
                                "payload": {"protocol_version": "0.2"}}))
        ready = json.loads(socket.recv())
        while ready["type"] != "session.ready":
            ready = json.loads(socket.recv())
        said = ready["payload"]["capabilities"]["compression"]
        check("capabilities", said == expected, said)
print("compressed when asked, and only then")
