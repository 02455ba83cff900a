# SPDX-License-Identifier: Apache-2.0
"""A simulated FPGA card at its RGMII pins behind a TAP device of a namespace.

Icarus runs the card under cocotb with cocotbext-eth at the pins (``bench_udp_tap.py``). Verilator runs it with a
program that drives the pins itself (``rtl/rgmii_pins.cpp``), some hundred times as fast.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offramp_sim.rtl.build import Design, build
from rtl.tap import open_tap
from rtl.wired_card import WiredCard, pins_design

if TYPE_CHECKING:
    from namespaces import Namespace

BENCH: Final = Path(__file__).parents[1] / "fpga" / "udp" / "bench_udp_tap.py"
_TAP: Final = "card0"
_SEED: Final = 3
_RUN: Final = """
import json, sys
from pathlib import Path
from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design
chosen = json.loads(sys.argv[1])
found = run_bench(Design("udp_card", chosen["parameters"]), chosen["simulator"], Path(chosen["bench"]),
                  Path(chosen["work"]), settings=chosen["settings"])
print(json.dumps(found))
"""


class TappedCard:
    """The card, at 192.168.1.50, and the host's address 192.168.1.1.

    Args:
        space: where it is.
        work: a folder for it.
        simulator: simulator of the RTL.
        bad: share of frames that are lost, doubled or late, each way.
        bridge: one of the namespace that joins the card, instead of the card's interface alone.
        parameters: parameters of ``udp_card``.
    """

    def __init__(
        self,
        space: Namespace,
        work: Path,
        simulator: str,
        bad: float = 0.0,
        bridge: str | None = None,
        **parameters: int,
    ) -> None:
        self.space, self.work = space, work
        parameters = {"LINES": 64, **parameters}
        pins = simulator == "verilator"
        build(pins_design(parameters) if pins else Design("udp_card", parameters), simulator)
        self._plug(bridge)
        self.end = work / "end"
        """A file whose appearance switches the card off."""
        self._card: WiredCard | _CocotbCard
        if pins:
            tap = space.call(partial(open_tap, _TAP))
            self._card = WiredCard(tap, parameters, bad, _SEED, self.end.exists)
        else:
            self._card = _CocotbCard(space, work, simulator, bad, self.end, parameters)

    def _plug(self, bridge: str | None) -> None:
        space, here = self.space, bridge or _TAP
        space.run("ip", "tuntap", "add", _TAP, "mode", "tap")
        if bridge:
            space.run("ip", "link", "set", _TAP, "master", bridge)
        for name in {_TAP, here}:
            space.run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            space.run("ip", "link", "set", name, "up")
        space.run("ip", "address", "add", "192.168.1.1/24", "dev", here)

    def host(self, *command: str, timeout: float = 300) -> str:
        """Output of a command in the namespace."""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        words = [*self.space.command, *command]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=timeout, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def finish(self) -> dict[str, Any]:
        """Counts of the wire and the card."""
        self.end.touch()
        return self._card.finish()

    def close(self) -> None:
        """End the simulation if it still runs."""
        self.end.touch()
        self._card.close()


class _CocotbCard:
    """The bench in a process of its own."""

    def __init__(
        self, space: Namespace, work: Path, simulator: str, bad: float, end: Path, parameters: dict[str, int]
    ) -> None:
        ready = work / "ready"
        settings = {"tap": _TAP, "seed": _SEED, "bad": bad, "end": str(end), "ready": str(ready)}
        chosen = {"parameters": parameters, "simulator": simulator, "bench": str(BENCH)}
        chosen |= {"work": str(work), "settings": settings}
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [*space.command, sys.executable, "-c", _RUN, json.dumps(chosen)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        while not ready.exists():
            assert self._process.poll() is None, "the simulation does not start"
            time.sleep(0.05)

    def finish(self) -> dict[str, Any]:
        said, _ = self._process.communicate(timeout=60)
        assert self._process.returncode == 0, said
        outcome: dict[str, Any] = json.loads(said.splitlines()[-1])
        return outcome

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.wait(60)
