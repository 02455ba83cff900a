# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster as what starts all ranks: a task on each host's node, which ``RAY_ADDRESS`` leads to.

https://docs.ray.io/en/latest/ray-core/starting-ray.html
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from offramp.job.engine import ENGINES, RankCommand, RankEngine, RankStart
from offramp.workers.ray_ranks import ADDRESS, FAILED
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.extras import needs

_PLACES: Final = "ray.json"
_FAILED: Final = re.compile(FAILED.format(rank=r"(\d+)", status=r"\d+"))


@ENGINES.register("ray")
class RayEngine(RankEngine):
    """One task of Ray's on each host."""

    what = "tasks of the Ray cluster at RAY_ADDRESS"
    together = True

    def check(self) -> None:
        """It needs the package, and the address of a cluster.

        Raises:
            OfframpError: one of them is missing.
        """
        super().check()
        if find_spec("ray") is None:
            raise OfframpError(f"engine ray: {needs('ray')}")
        if not os.environ.get(ADDRESS):
            raise OfframpError(f"engine ray: {ADDRESS} is not set: the address of a cluster, such as 10.0.0.1:6379")

    def commands(self, start: RankStart) -> list[RankCommand]:
        """One command for all ranks, whose places are in a file that only this user reads."""
        path = start.folder.absolute() / _PLACES
        first, hosts = 0, []
        for host in start.hosts:
            own = start.own[first : first + host.processes]
            environments = [{**start.common, **each} for each in own]
            hosts.append({"address": host.where, "gpus": host.gpus, "environments": environments})
            first += host.processes
        places = {
            "command": list(start.command),
            "working_folder": str(Path.cwd()),
            "logs": str(start.folder.absolute()),
            "hosts": hosts,
        }
        with written(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(json.dumps(places, indent=1).encode())
        words = [sys.executable, "-m", "offramp.workers.ray_ranks", str(path)]
        return [RankCommand(words, range(len(start.own)), "ray.log")]

    def failed_rank(self, said: str) -> int | None:
        """The rank that the command names last."""
        match = _FAILED.search(said)
        return int(match[1]) if match else None
