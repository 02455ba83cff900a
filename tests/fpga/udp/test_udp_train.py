# SPDX-License-Identifier: Apache-2.0
"""Training through the card as SwitchGNN's switch between workers on one Ethernet: from its RGMII pins through a bridge
to the workers' own packet sockets, loaded over the card's request layer.

Blind spot: simulated time is slower than the workers', so nothing here is a rate.
"""

import json
import os
import subprocess
import sys

import pytest

from offramp.allreduce.control import with_control
from offramp.fpga.card import with_card
from offramp.switchgnn.card import SwitchGnnCard
from offramp_base.errors import OfframpError

pytestmark = [pytest.mark.rtl, pytest.mark.netns, pytest.mark.slow]
pytest.importorskip("cocotbext.eth")
CARD = "fpga:udp=192.168.1.50"
SIZES = {"AGGREGATORS": 64, "VERTICES": 128, "EDGES": 128}
SETTINGS = "--graph karate --partition hash --hidden 16 --epochs 2 --timeout 300 --retry 5"
_OFFRAMP = "from offramp_cli import main; main()"


def train(space, workers, *words):
    """Report of ``offramp train``, in the namespace."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "GLOO_SOCKET_IFNAME": "lo"}
    command = [*space.command, sys.executable, "-c", _OFFRAMP, "train", *SETTINGS.split()]
    command += ["--workers", str(workers), *words, "--json", "-"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])


def through_card(space, workers, *words):
    ports = ",".join(f"r{worker}" for worker in range(workers))
    return train(space, workers, "--target", "fpga", "--switch", CARD, "--ports", ports, "--memory", "8KB", *words)


def course(result):
    """Loss and accuracies of each epoch."""
    names = ("loss", "train_accuracy", "val_accuracy", "test_accuracy")
    return [[epoch[name] for name in names] for epoch in result["per_epoch"]]


@pytest.mark.parametrize(("workers", "bad"), [(2, 0.0), (3, 0.01)])
def test_training_through_the_card_is_p2ps_to_the_bit(lan, workers, bad):
    space, make = lan
    running = make(bad=bad, **SIZES)
    trained = through_card(space, workers)
    expected = train(space, workers, "--propagator", "p2p", "--codec", "fixed")
    assert course(trained) == course(expected)
    counts = space.call(lambda: with_card(CARD, lambda: SwitchGnnCard(CARD, 60), lambda card: card.counters(), 60))
    assert counts["results"] > 100
    assert counts["malformed"] == counts["stranger"] == 0
    wire = running.finish()
    assert bool(wire["lost"]) == bool(wire["twice"]) == bool(bad)


def test_a_card_without_the_engine_and_a_plan_that_is_too_large_are_one_line(lan):
    space, make = lan
    make(AGGREGATORS=16, VERTICES=128, EDGES=128)
    with pytest.raises(AssertionError, match="aggregators: the plan needs 26, the switch program has 16"):
        through_card(space, 2)
    with pytest.raises(OfframpError, match="has no allreduce"):
        space.call(lambda: with_control(CARD, lambda control: control.pages, 60))
