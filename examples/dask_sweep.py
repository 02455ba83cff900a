# SPDX-License-Identifier: Apache-2.0
"""A sweep on a Dask cluster: does a switch pay for this graph, and from how much memory on?

``sweep`` gives the same results in the same order on this machine's cores and on a cluster. The name of a scheduler
(``tcp://HOST:8786``) is an argument; without one the sweep runs here.

    memory   p2p      switch
       16 KB  … B  … B
       64 KB  … B  … B
      256 KB  … B  … B
"""

import sys

from offramp import run_sweep
from offramp.graph import Boundary, generate_graph, partition_graph
from offramp_sim.slot import SchemeParameters, simulate


def moved(memory: int) -> tuple[int, int]:
    """Bytes of one exchange on all links, without a switch and with one of that memory."""
    graph = generate_graph("sbm:n=600,k=8,degree=20,homophily=0.4", "1/0/0", seed=1)
    boundary = Boundary(graph, partition_graph(graph, 8, "metis"), 8)
    setting = SchemeParameters(boundary, features=64, memory_bytes=memory)
    outcomes = [simulate(setting, name) for name in ("bns-gcn", "switchgnn")]
    host, switch = (outcome.up_bytes + outcome.down_bytes for outcome in outcomes)
    return host, switch


def main() -> None:
    """Three memories."""
    sizes = [16_000, 64_000, 256_000]
    scheduler = sys.argv[1] if len(sys.argv) > 1 else None
    print("memory   p2p      switch")
    for size, (host, switch) in zip(sizes, run_sweep(moved, sizes, dask=scheduler, what="memories"), strict=True):
        print(f"{size // 1000:5} KB  {host} B  {switch} B")


if __name__ == "__main__":
    main()
