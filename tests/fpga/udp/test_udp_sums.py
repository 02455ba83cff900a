# SPDX-License-Identifier: Apache-2.0
"""The card as the switch of all-reduces between hosts on one Ethernet, from its RGMII pins through a bridge to the
ranks' own packet sockets; jobs are admitted over the card's request layer.

Blind spot: simulated time is slower than the hosts', so nothing here is a rate.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from allreduce_lab import equal
from allreduce_oracle import exact_sum, random_tensor
from offramp.allreduce.control import with_control
from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
from offramp.allreduce.wire import LANES
from offramp_base.errors import OfframpError

pytestmark = [pytest.mark.rtl, pytest.mark.netns]
pytest.importorskip("cocotbext.eth")
CONTROL = "fpga:udp=192.168.1.50"
PATIENCE_S = 120


def reduce(space, rank, world, job, given):
    """Tensors of a rank at the end, in the namespace."""

    def work():
        network = AllReduceNetwork(f"af_packet:r{rank}", CONTROL, range(world), flight=8 << 10, retry_s=1.0)
        with AllReducer(network, rank, world, job, PATIENCE_S) as reducer:
            for array in given:
                reducer.all_reduce(array)
            return reducer.stats

    return space.call(work)


@pytest.mark.slow
def test_hosts_sum_exactly_over_a_bad_wire(lan):
    space, make = lan
    running = make(bad=0.05, PAGES=2)
    dice, world, job = np.random.default_rng(1), 3, 0x5EED
    tensors = [random_tensor(dice, dtype, 700, world) for dtype in ("int32", "float32")]
    expected = [exact_sum(arrays, LANES, 128) for arrays in tensors]
    given = [[arrays[rank] for arrays in tensors] for rank in range(world)]
    with ThreadPoolExecutor(world) as pool:
        ranks = [pool.submit(reduce, space, rank, world, job, given[rank]) for rank in range(world)]
        stats = [rank.result() for rank in ranks]
    for rank in range(world):
        for array, total in zip(given[rank], expected, strict=True):
            assert equal(array, total)
    outcomes = space.call(lambda: with_control(CONTROL, lambda control: control.outcomes(), PATIENCE_S))
    assert outcomes["completed"] >= 2 * (1 + 700 // LANES)
    assert outcomes["malformed"] == 0  # strangers are those who begin before rank 0 has admitted them
    wire = running.finish()
    assert wire["lost"]
    assert wire["twice"]
    assert sum(each.repeated for each in stats)


def test_a_card_without_the_engine_says_so(lan):
    space, make = lan
    make()
    with pytest.raises(OfframpError, match="has no allreduce"):
        space.call(lambda: with_control(CONTROL, lambda control: control.pages, PATIENCE_S))


_PROGRAM = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("offramp")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(20, 10))
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    inputs = torch.randn(8, 20, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
    optimiser.zero_grad()
    model(inputs).square().mean().backward()
    optimiser.step()
torch.save(model.module.state_dict(), f"{sys.argv[1]}-{dist.get_rank()}")
dist.destroy_process_group()
"""


def train(space, folder, name, network):
    """Weights of both ranks of a DDP program whose network file says so."""
    import torch

    (folder / "program.py").write_text(_PROGRAM)
    settings = folder / f"{name}.yaml"
    settings.write_text(network)
    environment = os.environ | {"OFFRAMP_NETWORK": str(settings), "GLOO_SOCKET_IFNAME": "lo"}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    words = [*space.command, sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port"]
    words += ["29611", str(folder / "program.py"), str(folder / name)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return [torch.load(folder / f"{name}-{rank}") for rank in range(2)]


@pytest.mark.slow
def test_a_ddp_program_trains_through_the_card(lan, tmp_path):
    """To the bit what it trains through the P4 program."""
    torch = pytest.importorskip("torch")
    from offramp.allreduce.control import with_session
    from offramp.p4src import p4_text
    from offramp_p4.embedded import EmbeddedSwitch

    space, make = lan
    make(PAGES=2)
    common = "offloads: [allreduce]\nports: [1, 2]\n"
    card = train(space, tmp_path, "card", f"{common}control: {CONTROL}\nlink: 'af_packet:r{{rank}}'\n")
    with EmbeddedSwitch(None, [1, 2]) as switch:
        program = p4_text("allreduce/v1model.p4").encode()
        with_session(switch.address, lambda session: session.push(b"", program), timeout_s=30)
        where = str(switch.port_specs[0]).removesuffix("1") + "{port}"
        through_p4 = train(space, tmp_path, "p4", f"{common}control: {switch.address}\nlink: '{where}'\n")
    for weights in (*card, *through_p4):
        for name, values in weights.items():
            assert torch.equal(values, card[0][name]), name
