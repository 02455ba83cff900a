# SPDX-License-Identifier: Apache-2.0
"""Start the ranks of a program in a Ray cluster: ``python -m offramp.workers.ray_ranks PLACES``.

``PLACES`` is a JSON file with ``command``, ``working_folder``, ``logs``, and for each host its ``address``, ``gpus``
and the ``environments`` of its ranks. ``RAY_ADDRESS`` says where the cluster is, as for any program of Ray's. A task on
each host's node starts the host's ranks; Ray ends the tasks with this process, and the ranks end with their task.
https://docs.ray.io/en/latest/ray-core/scheduling/index.html#nodeaffinityschedulingstrategy
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from offramp.workers.host_ranks import run_ranks
from offramp_base.errors import OfframpError, first_line

ADDRESS: Final = "RAY_ADDRESS"
"""Ray's variable with the address of a cluster."""
FAILED: Final = "rank {rank} ended with status {status}"
"""What is printed about the first rank that failed."""


def main() -> None:
    """Start the ranks and wait for them; the exit status is 1 where one failed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        failed = run_on_ray(json.loads(Path(sys.argv[1]).read_text("utf-8")), os.environ.get(ADDRESS, ""))
    except OfframpError as error:
        sys.exit(f"ray: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGTERM)
    if failed is not None:
        sys.exit(FAILED.format(rank=failed[0], status=failed[1]))


def run_on_ray(places: Mapping[str, Any], address: str) -> tuple[int, int] | None:
    """Run the ranks; the first that failed with its status, or None.

    Raises:
        OfframpError: no cluster answers, it has no node with a host's address, or a node has died.
    """
    ray: Any = import_module("ray")
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise OfframpError(f"{address}: no Ray cluster answers there: {first_line(error)}") from None
    try:
        return _wait(ray, [_submit(ray, places, host, _nodes(ray)) for host in places["hosts"]], places["hosts"])
    finally:
        ray.shutdown()


def _nodes(ray: Any) -> dict[str, str]:
    """Identities of the nodes that are alive, by address and by name."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    return {node[name]: node["NodeID"] for name in ("NodeManagerHostname", "NodeManagerAddress") for node in alive}


def _submit(ray: Any, places: Mapping[str, Any], host: Mapping[str, Any], nodes: Mapping[str, str]) -> Any:
    if host["address"] not in nodes:
        known = ", ".join(sorted(nodes))
        raise OfframpError(f"the cluster has no node at {host['address']}, but at {known}")
    affinity = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    task = ray.remote(run_ranks).options(
        num_cpus=0,
        num_gpus=host["gpus"],
        max_retries=0,
        scheduling_strategy=affinity(node_id=nodes[host["address"]], soft=False),
    )
    return task.remote(places["command"], host["environments"], places["working_folder"], places["logs"])


def _wait(ray: Any, tasks: Sequence[Any], hosts: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    """Wait for all tasks, or for the first with a rank that failed: the others are cancelled then."""
    waiting = list(tasks)
    try:
        while waiting:
            (ended, *_), waiting = ray.wait(waiting)
            failed = ray.get(ended)
            if failed is not None:
                place, status = failed
                return int(hosts[tasks.index(ended)]["environments"][place]["RANK"]), status
    except ray.exceptions.RayError as error:
        raise OfframpError(first_line(error)) from None
    finally:
        for task in waiting:
            ray.cancel(task, force=True)
    return None


if __name__ == "__main__":
    main()
