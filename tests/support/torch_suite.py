# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own distributed tests on the backend with an offload switched on, beside gloo's outcome.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/torch_suite.py allreduce hermod --tests barrier

For each offload it prints how many of the tests that gloo passes with four ranks pass, and which do not. Blind spot:
how many of their collectives the offload took. ``fallback`` is the backend without a network; ``sylvie`` rounds
gradients, so tests that compare them differ. Tests are those of
``torch.testing._internal.distributed.distributed_test``, which comes with PyTorch; their ranks are forks.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RANKS = 4
PORTS = list(range(1, RANKS + 1))
HERMOD = {"offloads": ["hermod"], "least": 1, "interface": "127.0.0.1"}
POD = {"name": "pod", "dimensions": [{"type": "ring", "size": 2, "rate": rate} for rate in ("100gbit", "10gbit")]}
"""Themis's network, whose dimensions four ranks fill."""
LINKS = {"allreduce": "auto", "allreduce-shm": "shm", "allreduce-af_packet": "af_packet"}
"""Transports of the links to the switch; those of the last need root."""
SETTINGS = {"hermod": HERMOD, "sylvie": {"offloads": ["sylvie"], "least": 1}}
NETWORKS = ("gloo", "fallback", *LINKS, "hermod", "themis", "sylvie")
DONE = "OUTCOMES "


@contextlib.contextmanager
def network(name: str, folder: Path) -> Iterator[dict[str, str]]:
    """Variables for the ranks; the switch of ``allreduce`` runs within."""
    if name in {"gloo", "fallback"}:
        yield {}
        return
    path = folder / f"{name}.json"
    with contextlib.ExitStack() as stack:
        settings: dict[str, Any] = SETTINGS.get(name, {})
        if name == "themis":
            pod = folder / "pod.yaml"
            pod.write_text(json.dumps(POD))
            settings = {"offloads": [name], "least": 1, "dimensions": str(pod)}
        if name in LINKS:
            from offramp.allreduce.control import with_session
            from offramp.p4src import p4_text
            from offramp_p4.embedded import EmbeddedSwitch

            switch = stack.enter_context(EmbeddedSwitch(None, PORTS, transport=LINKS[name]))
            text = p4_text("allreduce/v1model.p4", {"PAGES": 16}).encode()
            with_session(switch.address, lambda session: session.push(b"", text), 20.0)
            link = switch.port_specs[0].removesuffix(str(PORTS[0])) + "{port}"
            settings = {"offloads": ["allreduce"], "least": 1, "link": link, "control": switch.address, "ports": PORTS}
        path.write_text(json.dumps(settings | {"dump": str(folder / f"{name}-dumps")}))
        yield {"OFFRAMP_NETWORK": str(path)}


def run_here(words: list[str], plain: bool) -> dict[str, str]:
    """Run the tests whose names contain one of these words, or are ``=NAME``; the outcome of each by its name."""
    if not plain:
        import offramp_as_gloo  # noqa: F401
    import torch
    from torch.testing._internal.distributed import distributed_test as of_torch

    ranges = of_torch.get_profiling_event

    def ranges_of_both(name: str, *profile: Any, **how: Any) -> list[Any]:
        """Profiler ranges of a collective; those of an offload, ``offramp:…`` (docs/torch.md), get gloo's name."""
        offloaded = ranges(name.replace("gloo", "offramp", 1), *profile, **how) if "gloo" in name else []
        for each in offloaded:
            each.name = each.name.replace("offramp", "gloo", 1)
        return ranges(name, *profile, **how)

    of_torch.get_profiling_event = ranges_of_both

    class TestOffload(of_torch.TestDistBackend, of_torch.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestOffload)
    outcomes = {}
    for test in suite:
        assert isinstance(test, unittest.TestCase)
        name = test._testMethodName
        if words and not any(f"={name}" == word or word in name for word in words):
            continue
        if not torch.cuda.is_available() and ("cuda" in name or "nccl" in name):
            continue  # they would start their ranks and skip
        result = unittest.TestResult()
        with contextlib.redirect_stdout(io.StringIO()):
            test.run(result)
        bad = [*result.failures, *result.errors]
        outcomes[name] = "skipped" if result.skipped else bad[0][1] if bad else "passed"
        sys.stderr.write(f"{name}: {last_line(outcomes[name])}\n")
    return outcomes


def last_line(outcome: str) -> str:
    """The line of an outcome that says most: its last error."""
    lines = [line for line in outcome.splitlines() if "Error: " in line]
    return (lines or outcome.strip().splitlines())[-1].strip()


def run(name: str, words: list[str], folder: Path) -> dict[str, str]:
    """Outcomes of the tests on a network, in a process of their own."""
    place = folder / name
    place.mkdir()
    with network(name, folder) as variables:
        environment = os.environ | variables
        environment |= {"BACKEND": "gloo", "WORLD_SIZE": str(RANKS), "TEMP_DIR": str(place), "OMP_NUM_THREADS": "1"}
        code = (
            f"import json, torch_suite; print({DONE!r} + json.dumps(torch_suite.run_here({words!r}, {name == 'gloo'})))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment, check=False
        )
    line = next((each for each in done.stdout.splitlines() if each.startswith(DONE)), None)
    if line is None:
        raise SystemExit(f"{name}: the tests ended with {done.returncode}")
    outcomes: dict[str, str] = json.loads(line.removeprefix(DONE))
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="+", choices=NETWORKS)
    parser.add_argument("--tests", nargs="*", default=[], help="words in the names of tests; by default all")
    asked = parser.parse_args()
    if importlib.util.find_spec("expecttest") is None:
        raise SystemExit("PyTorch's tests need the package expecttest: pip install expecttest")
    with tempfile.TemporaryDirectory(prefix="torch-suite-") as folder:
        expected = {name for name, how in run("gloo", asked.tests, Path(folder)).items() if how == "passed"}
        differing = False
        for network_name in asked.networks:
            if network_name == "gloo":
                continue
            outcomes = run(network_name, [f"={name}" for name in sorted(expected)], Path(folder))
            bad = {name: last_line(outcomes.get(name, "missing")) for name in sorted(expected)}
            bad = {name: how for name, how in bad.items() if how != "passed"}
            differing |= bool(bad)
            row = {"network": network_name, "gloo passes": len(expected), "of these pass": len(expected) - len(bad)}
            sys.stdout.write(json.dumps(row | {"others": bad}) + "\n")
            sys.stdout.flush()
    return int(differing)


if __name__ == "__main__":
    sys.exit(main())
