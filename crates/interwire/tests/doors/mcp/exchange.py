"""A running exchange of this test; it never outlives it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Exchange:
    def __init__(self, program: str, folder: Path, config: Path | None = None, address: str = "127.0.0.1:0") -> None:
        command = [program, "serve", "--until-stdin-ends", "--listen", address, "--data", str(folder / "data")]
        command += ["--set", "log=warn"]
        if config:
            command += ["--config", str(config)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INTERWIRE_")}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        first = self.process.stdout.readline().strip()
        assert first.startswith("listening on "), first
        self.url = first.removeprefix("listening on ")
        self.address = self.url.removeprefix("http://")

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait() == 0

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.kill()
