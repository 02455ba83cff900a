# SPDX-License-Identifier: Apache-2.0
"""A run of a scenario by anybody: here for root, for others in a child process with a user namespace of its own.

Only a process with one thread may enter a user namespace, which this one no longer is: unshare(1) enters it and starts
the child there, which gets the scenario and gives the result as Python literals.
"""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, Final

from offramp_base.ending.children import stop, until_parent_ends
from offramp_base.errors import OfframpError
from offramp_base.extras import needs
from offramp_base.private_folder import remember_roots_folders
from offramp_sim.hermod.lab.experiment import LabResult, measure_here
from offramp_sim.hermod.lab.namespace import launcher
from offramp_sim.hermod.lab.scenario import Abuse, LabScenario

_ENDING_S: Final = 10.0


def measure(scenario: LabScenario) -> LabResult:
    """Run a scenario in network namespaces on this machine.

    Raises:
        OfframpError: no right to make namespaces, no PyTorch, something failed, or bytes arrived wrong.
    """
    words = launcher()
    if find_spec("torch") is None:
        raise OfframpError(f"a run of processes {needs('torch')}")
    return _measure_behind(words, scenario) if words else measure_here(scenario)


def _measure_behind(words: Sequence[str], scenario: LabScenario) -> LabResult:
    remember_roots_folders()
    command = [*until_parent_ends(), *words, sys.executable, "-m", __name__]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        answer, _ = process.communicate(repr(asdict(scenario)))
    finally:
        stop(process, _ENDING_S)
    if process.returncode:
        raise OfframpError(f"the measurement without root ended with {process.returncode}")
    result = ast.literal_eval(answer)
    if isinstance(result, str):
        raise OfframpError(result)
    return LabResult(**result | {"scenario": scenario})


def _scenario(text: str) -> LabScenario:
    fields: dict[str, Any] = ast.literal_eval(text)
    abuse = fields.pop("abuse")
    return LabScenario(**fields, abuse=None if abuse is None else Abuse(**abuse))


def main() -> None:
    """Run the scenario on the standard input; its result, or the message of an error, goes to the standard output."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that blocks end what they started
    scenario = _scenario(sys.stdin.read())
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what others print is no part of the answer
        try:
            answer: dict[str, Any] | str = asdict(measure_here(scenario))
        except OfframpError as error:
            answer = str(error)
        out.write(repr(answer))


if __name__ == "__main__":
    main()
