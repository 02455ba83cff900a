# SPDX-License-Identifier: Apache-2.0
"""A client of the Debug Adapter Protocol, as an editor is one; written from the protocol's specification."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

WAIT_S = 20.0


class Refused(Exception):
    """A request was answered with success: false."""


class DapClient:
    """Sends requests and collects events; a thread reads what comes."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader, self._writer = reader, writer
        self._serial = 0
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.seen: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, command: str, **arguments: Any) -> int:
        """Send a request; returns its number, for :meth:`answer`."""
        self._serial += 1
        self._answers[self._serial] = queue.SimpleQueue()
        message = {"seq": self._serial, "type": "request", "command": command, "arguments": arguments}
        content = json.dumps(message).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        self._writer.flush()
        return self._serial

    def answer(self, number: int) -> dict[str, Any]:
        """The body of the answer to a request."""
        answer = self._answers[number].get(timeout=WAIT_S)
        if not answer["success"]:
            raise Refused(answer["message"])
        body: dict[str, Any] = answer.get("body", {})
        return body

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.answer(self.send(command, **arguments))

    def event(self, name: str) -> dict[str, Any]:
        """The body of the next event of this name; others before it are kept in :attr:`seen`."""
        while True:
            event = self._events.get(timeout=WAIT_S)
            self.seen.append(event)
            if event["event"] == name:
                body: dict[str, Any] = event["body"]
                return body
            if event["event"] == "closed":
                raise ConnectionError("the adapter has closed the connection")

    def start(self, how: str, *, lines: dict[Path, list[dict[str, Any]]] | None = None, **arguments: Any) -> None:
        """Initialize, launch or attach, set breakpoints, and say that all is set."""
        self.request("initialize", adapterID="offramp", linesStartAt1=True, columnsStartAt1=True)
        number = self.send(how, **arguments)
        self.answer(number)
        self.event("initialized")
        for path, breakpoints in (lines or {}).items():
            reply = self.request("setBreakpoints", source={"path": str(path)}, breakpoints=breakpoints)
            assert all(each["verified"] for each in reply["breakpoints"]), reply
        self.request("configurationDone")

    def stop(self) -> tuple[str, str, int]:
        """Wait until a packet is held: why, and in which frame and line."""
        reason = self.event("stopped")["reason"]
        top = self.stack()[0]
        return reason, top["name"], top["line"]

    def stack(self) -> list[dict[str, Any]]:
        """The frames, innermost first."""
        frames: list[dict[str, Any]] = self.request("stackTrace", threadId=1)["stackFrames"]
        return frames

    def go(self, command: str = "continue") -> tuple[str, str, int]:
        """Let the packet go on and wait until one is held."""
        self.request(command, threadId=1)
        return self.stop()

    def scope(self, name: str, frame: int = 1) -> dict[str, dict[str, Any]]:
        """The variables of a scope by name."""
        scopes = self.request("scopes", frameId=frame)["scopes"]
        reference = next(s["variablesReference"] for s in scopes if s["name"] == name)
        return self.variables(reference)

    def variables(self, reference: int, **page: int) -> dict[str, dict[str, Any]]:
        """Variables below a reference, by name."""
        listed = self.request("variables", variablesReference=reference, **page)["variables"]
        return {each["name"]: each for each in listed}

    def evaluate(self, expression: str, frame: int = 1) -> str:
        """The value of an expression."""
        return str(self.request("evaluate", expression=expression, frameId=frame, context="watch")["result"])

    def _read(self) -> None:
        try:
            while True:
                length = 0
                while line := self._reader.readline().strip():
                    name, _, value = line.partition(b":")
                    assert name == b"Content-Length"
                    length = int(value)
                if not length:
                    break
                message = json.loads(self._reader.read(length))
                if message["type"] == "event":
                    self._events.put(message)
                else:
                    self._answers[message["request_seq"]].put(message)
        except (OSError, ValueError):
            pass
        self._events.put({"event": "closed", "body": {}})


@contextlib.contextmanager
def over_stdio(*arguments: str) -> Iterator[DapClient]:
    """A client of ``offramp switch debug --stdio``, which must end by itself and without a word."""
    words = [sys.executable, "-m", "offramp", "switch", "debug", "--stdio", *arguments]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield DapClient(process.stdout, process.stdin)
            process.stdin.close()
            assert process.wait(WAIT_S) == 0
            assert process.stderr.read() == b""
        finally:
            process.kill()


@contextlib.contextmanager
def over_socket(address: str) -> Iterator[DapClient]:
    """A client of a debugger that listens at ``HOST:PORT``; the connection is cut at the end."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as sock:
        sock.settimeout(None)
        with sock.makefile("rb") as reader, sock.makefile("wb") as writer:
            try:
                yield DapClient(reader, writer)
            finally:  # before the files close, which wait for the thread that reads
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
