# SPDX-License-Identifier: Apache-2.0
"""Act ``leo``: look-ups of a key-value store over processor, FPGA and smartNIC, each alone and with a path per request.

The FPGA in the runtime is a model, whose cycles tests compare with the RTL; what it takes part in is called modelled.
Where the tools are there, the RTL in simulation answers look-ups as well.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp.job.answer import Circumstances, verdict
from offramp.job.load import processors, tasks_of_others
from offramp.leo.applications.compare import running
from offramp.leo.applications.named import open_application
from offramp.leo.selection import Policy
from offramp.nic import AgentProcess
from offramp.nic.build import AGENT, cache_folder
from offramp.report import Alternative, Outcome, ReportCheck, Verdict
from offramp.report.units import duration
from offramp_base import OfframpError
from offramp_base.ending.children import stop_group

if TYPE_CHECKING:
    from offramp.leo.applications.compare import ApplicationRun
    from offramp_cli.demo.acts import Scene

CPU, FPGA, NIC = "cpu", "fpga", "nic"
NAMES: Final = {CPU: "processor", FPGA: "FPGA", NIC: "smartNIC"}
_KEYS: Final = 1000
_SECONDS: Final = 0.25
_ROUNDS: Final = 5
_LOAD: Final = 0.6
"""Share of the processor's own rate at which requests come."""
_LOOKUPS: Final = 32
_RTL_S: Final = 15.0


@dataclass
class DeviceMeasurement:
    """Measurements of one set of devices.

    Attributes:
        devices: that it may take.
        median_s: median time of a request in each round.
        by_device: requests that ended on each device.
        wrong: answers that were not right.
    """

    devices: tuple[str, ...]
    median_s: list[float] = field(default_factory=list)
    by_device: dict[str, int] = field(default_factory=dict)
    wrong: int = 0

    @property
    def name(self) -> str:
        """The alternative's name in the report."""
        if len(self.devices) == 1:
            return NAMES[self.devices[0]]
        return f"chosen of {'+'.join(NAMES[each] for each in self.devices)}"

    @property
    def shares(self) -> str:
        """The paths that requests took, in words."""
        total = max(1, sum(self.by_device.values()))
        parts = (f"{NAMES[each]} {count / total:.0%}" for each, count in self.by_device.items() if each in self.devices)
        return ", ".join(parts)

    def alternative(self) -> Alternative:
        """Modelled if the FPGA's model takes part."""
        if FPGA in self.devices:
            seconds, note = float(np.median(self.median_s)), f"the FPGA is a model; took {self.shares}"
            return Alternative(self.name, modelled_s=seconds, note=note, taken=len(self.devices) > 1)
        note = f"took {self.shares}" if len(self.devices) > 1 else ""
        return Alternative(self.name, measured_s=tuple(self.median_s), note=note, taken=len(self.devices) > 1)


def play(scene: Scene) -> Outcome:
    """Ask the RTL, then run the store over all paths."""
    console, seed = scene.stage.console, scene.settings.seed
    with console.status("RTL of the FPGA in simulation"):
        rtl, lacks = rtl_or_reason(seed)
    answered = f"The FPGA's RTL in simulation: {rtl['count']} look-ups, {rtl['busy_ns']} ns each." if rtl else lacks
    notes = [answered]
    others = tasks_of_others()
    with ExitStack() as stack:
        devices = {FPGA: "fpga-model:"}
        if reason := lacks_agent():
            notes.append(reason)
        else:
            with console.status("the smartNIC's agent starts"):
                devices[NIC] = f"nic:{stack.enter_context(AgentProcess()).path}"
        for note in notes:
            console.print(f"  {note}", soft_wrap=True)
        application = open_application(["kvs"], devices=devices, keys=_KEYS, seed=seed)
        paths = paths_of(tuple(devices))
        with running(application) as run:
            _measure(run, paths, seed, scene)
    return outcome_of(paths, rtl, notes, others)


def paths_of(devices: Sequence[str]) -> list[DeviceMeasurement]:
    """Each device alone; all that are really here together; and all, if one is a model."""
    here = (CPU, *(each for each in devices if each != FPGA))
    together = [here, (CPU, *devices)]
    return [
        *(DeviceMeasurement((each,)) for each in (CPU, *devices)),
        *(DeviceMeasurement(each) for each in together if len(each) > 1),
    ]


def _measure(run: ApplicationRun, paths: Sequence[DeviceMeasurement], seed: int, scene: Scene) -> None:
    """All paths by turns, with requests at one rate."""
    closed_s: dict[str, float] = {}
    for path in paths:
        if len(path.devices) == 1:
            outcome, _ = run(path.devices, closed_s, Policy.LOOKAHEAD, seed, None, _SECONDS)
            closed_s[path.devices[0]] = 1 / max(outcome.rate, 1e-2)
            path.wrong += outcome.wrong
    measured_ns = {device: 1e9 * seconds for device, seconds in closed_s.items()}
    rate = _LOAD / closed_s[CPU]
    for number in range(_ROUNDS):
        for k, path in enumerate(paths):
            # A device that is slower than the requests come would only show how its queue grows.
            slowest = min(rate, _LOAD / closed_s[path.devices[0]]) if len(path.devices) == 1 else rate
            outcome, names = run(path.devices, measured_ns, Policy.LOOKAHEAD, seed + number, slowest, _SECONDS)
            path.median_s.append(outcome.latency_us() / 1e6)
            path.wrong += outcome.wrong
            for name, count in zip(names, outcome.by_path.tolist(), strict=True):
                path.by_device[name] = path.by_device.get(name, 0) + count
            scene.stage.advance(path.name, number * len(paths) + k + 1, _ROUNDS * len(paths))


def outcome_of(
    paths: Sequence[DeviceMeasurement], rtl: Mapping[str, Any], notes: Sequence[str], others: float | None
) -> Outcome:
    """The outcome."""
    alternatives = tuple(each.alternative() for each in paths)
    compared = [each for each in alternatives if each.name == NAMES[CPU] or (each.taken and each.measured_s)]
    wrong = sum(each.wrong for each in paths)
    claims = [ReportCheck(f"All answers over all paths are right ({wrong} wrong).", wrong == 0)]
    if rtl:
        claims.append(ReportCheck(f"All {rtl['count']} look-ups in the RTL are right.", rtl["wrong"] == 0))
    rate = (
        f"Requests come at {_LOAD:.0%} of the rate that the processor alone sustains, or the device where it is less."
    )
    return Outcome(
        "leo",
        "",
        "",
        verdict_of(compared, alternatives, others),
        "request",
        alternatives,
        checks=tuple(claims),
        notes=(*notes, rate),
    )


def verdict_of(compared: Sequence[Alternative], every: Sequence[Alternative], others: float | None) -> Verdict:
    """Verdict from the measurements; unknown if only models stand beside the processor."""
    if len(compared) > 1:
        known = Circumstances(NAMES[CPU], {}, {}, others=others, processors=processors(), unit="request")
        return verdict(compared, known)
    alone, chosen = duration(float(np.median(compared[0].measured_s))), every[-1]
    claim = (
        "Cannot be told on this machine, because only a model of the FPGA stands beside the processor: a request took"
    )
    return Verdict(
        "unknown", f"{claim} {alone} by the processor, and {duration(chosen.modelled_s or 0.0)} with the model."
    )


def lacks_agent() -> str:
    """Why there is no smartNIC here; empty if its agent is built."""
    if shutil.which(AGENT) is not None or (cache_folder() / AGENT).is_file():
        return ""
    return "No smartNIC: its agent is not built (offramp nic build builds it)."


def rtl_or_reason(seed: int, timeout_s: float = _RTL_S) -> tuple[dict[str, Any], str]:
    """Results of look-ups in the FPGA's RTL; or nothing and the reason in a sentence."""
    if shutil.which("iverilog") is None:
        return {}, "No iverilog on PATH, so the FPGA is its model alone."
    if find_spec("cocotb") is None:
        return {}, "The package cocotb is missing, so the FPGA is its model alone."
    process = subprocess.Popen(
        [sys.executable, "-m", "offramp_cli.demo.rtl", str(_LOOKUPS), str(seed)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    begun = time.monotonic()
    try:
        reply, _ = process.communicate(timeout=timeout_s)
        return dict(json.loads(reply)), ""
    except subprocess.TimeoutExpired:
        stop_group(process)
        return {}, f"The RTL did not answer within {time.monotonic() - begun:.0f} s, so the FPGA is its model alone."
    except (ValueError, OfframpError):
        return {}, "The RTL could not be simulated here (offramp fpga test says why), so the FPGA is its model alone."
