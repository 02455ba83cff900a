# SPDX-License-Identifier: Apache-2.0
"""A simulated card at the pace of ``rgmii_pins.cpp``, joined to a descriptor of frames by a wire that may be bad."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from offramp.fpga.udp import Counter
from offramp_sim.rtl.build import Design, build
from rtl.tap import BadWire, wire_counts

_PROGRAM: Final = Path(__file__).with_name("rgmii_pins.cpp")
_LOOK_S: Final = 0.05
_MOST: Final = 2048


def pins_design(parameters: Mapping[str, int]) -> Design:
    """The card with the program that drives its pins."""
    return Design("udp_card", parameters, main=_PROGRAM, seen=("udp_engines.counters",))


class WiredCard:
    """The card's process, and a thread that carries frames until the descriptor or the card is closed.

    Args:
        frames: a descriptor, such as a TAP device's, that gives and takes whole frames and never blocks; closed at the
            end.
        parameters: parameters of ``udp_card``.
        bad: share of frames that are lost, doubled or late, each way.
        seed: seed of these faults.
        ends: asked now and then; once it is true the card is switched off.
    """

    def __init__(
        self, frames: int, parameters: Mapping[str, int], bad: float, seed: int, ends: Callable[[], bool]
    ) -> None:
        self._frames, self._ends = frames, ends
        self._to_card, self._to_host = BadWire(seed, bad), BadWire(seed + 1, bad)
        self._line, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            program = build(pins_design(parameters), "verilator") / "udp_card"
            words = [str(program), str(far.fileno())]
            self._process = subprocess.Popen(words, pass_fds=[far.fileno()], stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def _carry(self) -> None:
        """A frame for the card waits in the descriptor's own queue while the card has no room."""
        try:
            while not self._ends():
                for ready in select.select([self._frames, self._line], [], [], _LOOK_S)[0]:
                    if ready is self._line:
                        self._from_card()
                    elif select.select([], [self._line], [], _LOOK_S)[1]:
                        self._from_host()
        except (ConnectionError, EOFError):
            pass  # the card's process has ended: its status says why
        finally:
            self._line.close()
            os.close(self._frames)

    def _from_card(self) -> None:
        frame = self._line.recv(_MOST)
        if not frame:
            raise EOFError
        for each in self._to_host.carry(frame):
            with suppress(BlockingIOError):  # a host that is not reading loses frames
                os.write(self._frames, each)

    def _from_host(self) -> None:
        for each in self._to_card.carry(os.read(self._frames, _MOST)):
            self._line.send(each)

    def finish(self) -> dict[str, Any]:
        """Counts of the wire and the card; ``ends`` has to be true by now."""
        said, _ = self._process.communicate(timeout=60)
        self._thread.join()
        assert self._process.returncode == 0, said
        counted = json.loads(said)
        counters = {counter.name.lower(): value for counter, value in zip(Counter, counted["counters"], strict=True)}
        return {**wire_counts(self._to_card, self._to_host), **counters, "cycles": counted["cycles"]}

    def close(self) -> None:
        """Switch the card off."""
        if self._process.poll() is None:
            self._process.wait(60)
        self._thread.join()
