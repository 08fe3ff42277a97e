"""The loop of every driver: one JSON request a line, one JSON answer a line.

A driver is a class with a method per operation. What it does not have answers `{"cannot": why}`.
"""

import json
import queue
import sys
import threading
import traceback

OPERATIONS = (
    "publish", "raw", "follow", "next", "consume", "take", "ack", "nack", "cut", "resume", "stall",
    "unstall", "hears", "end",
)


class Feed:
    """What a reading thread has for `next`: at most one event waits, so a driver that is asked for
    nothing reads nothing more. While stalled the thread itself takes nothing."""

    def __init__(self):
        self.events = queue.Queue(maxsize=1)
        self.reading = threading.Event()
        self.reading.set()
        self.is_cut = False

    def start(self, read):
        threading.Thread(target=self.run, args=(read,), daemon=True).start()

    def run(self, read):
        try:
            for event in read():
                self.reading.wait()
                self.events.put(event)
            self.events.put({"control": {"kind": "ended"}})
        except Exception as error:  # A broken link is an event like others.
            if not self.is_cut:
                self.events.put({"control": {"kind": "broken", "why": repr(error)}})

    def next(self, timeout_ms):
        try:
            return self.events.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            return {"nothing": True}


def run(driver_class):
    driver = driver_class(json.loads(sys.argv[1]))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        operation = request.pop("op")
        method = getattr(driver, operation, None) if operation in OPERATIONS else None
        if operation == "hears" and method is None:
            # These doors say everything themselves.
            method = lambda kind: {"ok": True}
        if method is None:
            answer = {"cannot": f"no operation {operation}"}
        else:
            try:
                answer = method(**request)
            except Exception:
                answer = {"broken": traceback.format_exc()}
        print(json.dumps(answer), flush=True)
        if operation == "end":
            return
