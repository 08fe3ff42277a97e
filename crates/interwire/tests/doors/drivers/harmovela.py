"""Drives AEP sessions over WebSocket (`/harmovela`, subprotocol `harmovela-0.2`) with the websockets library."""

from door_driver import run
from session_driver import Session
from websockets.sync.client import connect


class Socket:
    def __init__(self, url):
        self.socket = connect(
            url, subprotocols=["harmovela-0.2"], max_size=None, max_queue=1, ping_interval=None,
        )
        self.send = self.socket.send

    def texts(self):
        yield from self.socket

    def cut(self):
        try:
            # Without a word, as a network does it.
            self.socket.socket.shutdown(2)
        except OSError:
            pass  # The other side was first.

    def close(self):
        self.socket.close()


def driver(start):
    url = start["url"].replace("http", "ws", 1).rstrip("/") + "/harmovela"
    return Session(start, lambda: Socket(url))


if __name__ == "__main__":
    run(driver)
