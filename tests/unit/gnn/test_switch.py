# SPDX-License-Identifier: Apache-2.0
"""Models of PyG, unchanged, whose halo rows go through the embedded switch, against one process.

Blind to Tofino's timing and to links faster than Unix sockets.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import gnn_models  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.gnn.exchanges import PlainExchange  # noqa: E402
from offramp.gnn.halo import ExchangeKey  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402
from offramp_base.settings.error import SettingsError  # noqa: E402
from offramp_base.transport.faulty import FaultRates  # noqa: E402
from offramp_p4.embedded import EmbeddedSwitch  # noqa: E402

CHOICES = [{}, {"memory": 8 << 10}, {"target": "tna"}, {"target": "v1model-replicated"}]
"""As it is; with memory for a few rows at a time; other programs."""

FAULTS = {"faults": FaultRates(loss=0.2, duplication=0.2, reordering=0.2), "retry_s": 0.02}


def models(group, item, report):
    """Each model's distance from one process when its rows go through the switch, and the number of frames."""
    address, links, names, options = item
    distances = {}
    for name in names:
        with gnn.Switch(address, links, **options) as switch:
            far = gnn_models.compare(group, ([name], "float32", {"propagator": switch}), report)[name]
            assert switch.worker is not None
            distances[name] = far, switch.worker.stats.up.packets
    return distances


def rows(group, item, report):
    """Rows that arrive with other bits, and how far sums of gradients are from those of ranks to ranks, by choice."""
    address, links, shapes, choices = item
    part = gnn.partition(gnn_models.graph(torch.float32), owner="random")
    halo, plain, errors = part.vertices[""].halo, PlainExchange(), []
    for options in choices:
        wrong, far = 0, 0.0
        with gnn.Switch(address, links, **options) as switch:
            for step, shape in enumerate(shapes):
                key = ExchangeKey(step, 0)
                x = torch.randint(-(2**31), 2**31, (halo.owned, *shape)).int().view(torch.float32)  # NaN among them
                came, expected = switch.fetch(x, halo, key), plain.fetch(x, halo, key)
                wrong += int((came.view(torch.int32) != expected.view(torch.int32)).sum())
                gradient = torch.randn(halo.rows, *shape)
                sums, those = switch.give_back(gradient, halo, key), plain.give_back(gradient, halo, key)
                far = max(far, float((sums - those).abs().max()))
            assert switch.worker is not None
            assert switch.worker.stats.up.packets > 0
        errors.append((int(group.sum(torch.tensor(wrong))), float(group.max(torch.tensor(far)))))
    return errors


def on_switch(work, ranks, *rest):
    with EmbeddedSwitch(None, range(1, ranks + 1)) as switch:
        links = list(zip(switch.port_numbers, switch.port_specs, strict=True))
        return run_workers(work, [(switch.address, links, *rest)] * ranks, print)


@pytest.mark.full
@pytest.mark.parametrize(
    ("ranks", "names"),
    [(2, ["gcn", "gin", "rgcn", "hetero"]), pytest.param(4, ["sage", "gat", "hgt"], marks=pytest.mark.slow)],
)
def test_losses_and_gradients_are_those_of_one_process(ranks, names):
    results = on_switch(models, ranks, names, {})
    assert {name: far for name, (far, _) in results.items() if not far < 1e-5} == {}
    assert all(packets > 0 for _, packets in results.values())


@pytest.mark.slow
@pytest.mark.full
def test_rows_arrive_bit_by_bit_and_their_gradients_as_sums():
    for wrong, far in on_switch(rows, 3, [(40,), (40,), (2, 3), (1,), (300,)], CHOICES):
        assert wrong == 0
        assert far < 1e-6


@pytest.mark.full
def test_rows_arrive_over_links_that_lose_and_repeat():
    ((wrong, far),) = on_switch(rows, 3, [(8,), (40,)], [FAULTS])
    assert wrong == 0
    assert far < 1e-6


def nobody(group, item, report):
    with gnn.Switch(*item) as switch:
        gnn_models.compare(group, (["gcn"], "float32", {"propagator": switch}), report)


def test_a_switch_that_is_not_there_is_one_line_on_every_rank():
    with pytest.raises(OfframpError, match=r"127\.0\.0\.1:1\b") as caught:
        run_workers(nobody, [("127.0.0.1:1", "udp:127.0.0.1:1,udp:127.0.0.1:2")] * 2, print)
    assert "\n" not in str(caught.value).strip()


def test_a_switch_goes_with_plain_rows_only():
    with pytest.raises(SettingsError, match="propagator"):
        gnn.distribute(
            gnn_models.make("gcn", torch.float32),
            gnn_models.graph(torch.float32),
            codec="q8",
            propagator=gnn.Switch("127.0.0.1:1", ""),
        )
