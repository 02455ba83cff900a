# SPDX-License-Identifier: Apache-2.0
"""Models of PyG through the embedded switch and from rank to rank, by turns: time of an epoch, bytes on links."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import gnn_bench  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.gnn.exchanges import PlainExchange  # noqa: E402
from offramp.gnn.module import DistributedModule  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_p4.embedded import EmbeddedSwitch  # noqa: E402

pytestmark = pytest.mark.bench
GRAPHS = Path(__file__).parents[3] / "shared" / "data"
EPOCHS = 7


class Counted(PlainExchange):
    """Rows from rank to rank, and the bytes of them."""

    def __init__(self) -> None:
        self.up = self.down = 0

    def fetch(self, x, halo, key):
        self._count(x, sum(halo.send_counts), halo.rows)
        return super().fetch(x, halo, key)

    def give_back(self, gradient, halo, key):
        self._count(gradient, halo.rows, sum(halo.send_counts))
        return super().give_back(gradient, halo, key)

    def _count(self, x, up, down):
        row = x.element_size() * x.shape[1:].numel()
        self.up += up * row
        self.down += down * row


def epochs(group, item, report):
    """Median seconds of an epoch, and bytes up and down of one, over all ranks."""
    address, links, spec = item
    torch.set_num_threads(1)
    part = gnn.partition(gnn_bench.data(spec))
    halo = part.vertices[""].halo
    copies = [len(halo.send_rows), len(halo.send_rows.unique())]
    copies_sent = {"copies": [float(group.sum(torch.tensor(float(each)))) for each in copies]}
    for name in ("sage", "gat"):
        with gnn.Switch(address, links, memory=32_000_000) as switch:
            plain = Counted()
            runs = {way: gnn_bench.Run(name, part, 16, 0) for way in ("p2p", "switch")}
            for run, exchange in zip(runs.values(), (plain, switch), strict=True):
                run.model = DistributedModule(run.model.module, part, exchange, 0, ())
            seconds = {way: [] for way in runs}
            for epoch in range(EPOCHS + 2):  # the first two: learned, loaded
                if epoch == 2:
                    plain.up = plain.down = 0
                    up, down = switch.worker.stats.up.payload_bytes, switch.worker.stats.down.payload_bytes
                for way, run in runs.items():
                    start = time.perf_counter()
                    run.epoch()
                    seconds[way].append(time.perf_counter() - start)
            stats = switch.worker.stats
            carried = {
                "p2p": (plain.up, plain.down),
                "switch": (stats.up.payload_bytes - up, stats.down.payload_bytes - down),
            }
        copies_sent[name] = {
            way: (
                statistics.median(seconds[way][2:]),
                *(float(group.sum(torch.tensor(float(each) / EPOCHS))) for each in carried[way]),
            )
            for way in runs
        }
    return copies_sent


@pytest.mark.parametrize("graph", ["cora", "facebook"])
@pytest.mark.parametrize("ranks", [4, 8])
def test_through_the_switch(graph, ranks):
    spec = str(GRAPHS / f"{graph}.npz")
    if not Path(spec).exists():
        pytest.skip(f"{spec} is not there")
    with EmbeddedSwitch(None, range(1, ranks + 1)) as switch:
        links = list(zip(switch.port_numbers, switch.port_specs, strict=True))
        results = run_workers(epochs, [(switch.address, links, spec)] * ranks, print)
    rows, vertices = results.pop("copies")
    for name, ways in results.items():
        for way, (seconds, up, down) in ways.items():
            print(  # noqa: T201 - the table of docs/results/training.md
                f"{graph} {name} {ranks} ranks, {rows / vertices:.2f} copies of a vertex: {way} "
                f"{seconds * 1e3:.1f} ms, {up / 1e6:.2f} MB up, {down / 1e6:.2f} MB down"
            )
        assert ways["switch"][1] + ways["switch"][2] < ways["p2p"][1] + ways["p2p"][2]
