# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium driven over its debugging pipe (Chrome DevTools Protocol): no port, no driver program."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WAIT_S = 60.0


class Browser:
    """One page of a browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._rest, self._number = write, read, b"", 0
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = None
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.errors: list[str] = []
        self.ask("Runtime.enable")

    def ask(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + WAIT_S
        while True:
            while b"\0" not in self._rest:
                assert select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))[0], method
                more = os.read(self._read, 1 << 20)
                assert more, "the browser has ended"
                self._rest += more
            text, _, self._rest = self._rest.partition(b"\0")
            answer = json.loads(text)
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(answer["params"]["exceptionDetails"]))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url: str, width: int, height: int, *, dark: bool = False) -> None:
        """Go there with a viewport of this many pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=scheme)
        self.ask("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until it is true."""
        deadline = time.monotonic() + WAIT_S
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, (expression, self.evaluate("document.body.innerText"), self.errors)
            time.sleep(0.05)

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A Chromium with a profile of its own; the test is skipped where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on PATH (make packages)")
    asked, to_browser = os.pipe()
    from_browser, answered = os.pipe()
    # The browser reads from 3 and writes to 4.
    words = ["bash", "-c", f'exec "$0" "$@" 3<&{asked} 4>&{answered}', program]
    words += ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    words += ["--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}", "about:blank"]
    with (folder / "chromium.log").open("w") as log:
        process = subprocess.Popen(words, pass_fds=(asked, answered), stderr=log, stdout=log)
    os.close(asked)
    os.close(answered)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
