"""Drives AEP sessions over standard input and output: `interwire stdio --url`, one event a line, as a child of
Python's subprocess module."""

import subprocess

from door_driver import run
from session_driver import Session


class Child:
    def __init__(self, command):
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1
        )

    def send(self, text):
        self.child.stdin.write(text.replace("\n", " ") + "\n")
        self.child.stdin.flush()

    def texts(self):
        for line in self.child.stdout:
            yield line.rstrip("\n")

    def cut(self):
        self.child.kill()
        self.child.wait()

    def close(self):
        self.child.stdin.close()
        assert self.child.wait(timeout=60) == 0, self.child.returncode


def driver(start):
    return Session(start, lambda: Child([start["program"], "stdio", "--url", start["url"]]))


if __name__ == "__main__":
    run(driver)
