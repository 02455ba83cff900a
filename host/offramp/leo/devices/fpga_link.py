# SPDX-License-Identifier: Apache-2.0
"""The connection to the agent of an FPGA card, and the process of a simulated card."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from offramp.device import Status
from offramp.fpga.sources import fpga_root
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.listening import Token, connect
from offramp_base.registry import Registry

REQUEST: Final = struct.Struct("<BQI")
"""Operation, serial number, bytes of the message that follows."""

ANSWER: Final = struct.Struct("<BBQQI")
"""Operation, status, serial number, nanoseconds of work, bytes of the message that follows."""

TABLE, LOOKUP, REDUCE, WRITE, ABORT, EBS, COPY, READ, QUANTISE, DEQUANTISE = range(10)
MOST: Final = 1 << 26
"""Largest message in bytes."""
PROTOCOL: Final = "fpga 1"
START_S: Final = 600.0
"""Seconds that a simulated card may take to start: the first start installs PYNQ and builds the RTL."""

CARDS: Final[Registry[Callable[[Path, Sequence[str]], list[str]]]] = Registry("card", "offramp.cards")
"""Commands that start cards which are in no slot, given the host's listening socket and the cards' options."""

_LOG = logging.getLogger(__name__)
_STATUSES: Final = frozenset(int(status) for status in Status)
Command = Callable[[Path], tuple[list[str], dict[str, str]]]
"""Given the path of the socket that the host listens on: the command that starts an agent connecting there, and its
environment variables."""

Heard = Callable[[int, int, int, bytes], None]
"""Called with serial number, status, nanoseconds and message of each answer."""


def simulated(options: Sequence[str]) -> Command:
    """The command that starts a card in simulation."""
    return lambda path: (CARDS.get("simulated")(path, options), {})


def programmed(xclbin: str) -> Command:
    """The command that serves an Alveo card in this machine through XRT, loaded with a file.

    Raises:
        OfframpError: there is no such file.
    """
    if not Path(xclbin).is_file():
        raise OfframpError(f"{xclbin}: no such file; offramp fpga build --board u50 explains how to make one")
    start = [os.environ.get("OFFRAMP_XRT", sys.executable), "-m", "offramp_pynq.agent", "--xclbin", xclbin]
    return lambda path: ([*start, "--connect", str(path)], {"PYTHONPATH": str(fpga_root() / "pynq")})


class CardLink:
    """A connection to a card, which serves one host."""

    def __init__(self, at: str, agent: Command, heard: Heard, lost: Callable[[], None]) -> None:
        """Connect to the agent ``at`` HOST:PORT or unix:PATH, or start one: a simulated card's, or that of a card here.

        With OFFRAMP_TOKEN_FILE both sides prove the token in that file.

        Raises:
            OfframpError: there is none, or it does not start.
        """
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = temporary_folder()
        self._heard, self._lost = heard, lost
        try:
            self._line = self._connect(at) if at else self._start(agent)
        except BaseException:
            self._end()
            raise
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @staticmethod
    def _connect(at: str) -> socket.socket:
        try:
            line, _ = connect(at, Token.from_environment(), PROTOCOL, {}, redial=True)
            if line.family != socket.AF_UNIX:
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise OfframpError(f"device fpga:{at}: {error.strerror or error}") from None
        except OfframpError as error:
            raise OfframpError(f"device fpga:{at}: {error}") from None
        return line

    def _start(self, agent: Command) -> socket.socket:
        path = Path(self._folder.name) / "host"
        log = Path(self._folder.name) / "log"
        with socket.socket(socket.AF_UNIX) as listener, log.open("wb") as output:
            os.fchmod(listener.fileno(), 0o600)  # Linux gives this mode to the file that bind makes
            listener.bind(str(path))
            listener.listen(1)
            listener.settimeout(0.2)
            command, variables = agent(path)
            self._process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=os.environ | variables
            )
            for _ in range(int(START_S / 0.2)):
                with contextlib.suppress(TimeoutError):
                    line, _ = listener.accept()
                    line.settimeout(None)
                    return line
                if self._process.poll() is not None:
                    break
        said = log.read_text(errors="replace").strip().splitlines()
        raise OfframpError(f"device fpga: no card: {said[-1] if said else 'it does not start'}")

    def send(self, operation: int, serial: int, message: bytes) -> None:
        """Send a request; ``lost`` is called if the card is gone."""
        with contextlib.suppress(OSError):
            self._line.sendall(REQUEST.pack(operation, serial, len(message)) + message)

    def _read(self) -> None:
        received = bytearray()
        while True:
            at = 0
            while len(received) - at >= ANSWER.size:
                _, status, serial, worked, length = ANSWER.unpack_from(received, at)
                if length > MOST or status not in _STATUSES:
                    _LOG.error("device fpga: an answer of %d bytes with status %d: hung up", length, status)
                    self._lost()
                    return
                if len(received) - at < ANSWER.size + length:
                    break
                at += ANSWER.size
                self._heard(serial, status, worked, bytes(received[at : at + length]))
                at += length
            del received[:at]
            try:
                more = self._line.recv(1 << 16)
            except OSError:
                more = b""
            if not more:
                self._lost()
                return
            received += more

    def close(self) -> None:
        """Close the connection, and end a simulated card."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._line.close()
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            try:
                self._process.wait(5)  # it goes when the line is closed
            except subprocess.TimeoutExpired:
                self._process.terminate()
                self._process.wait()
            self._process = None
        self._folder.cleanup()
