# SPDX-License-Identifier: Apache-2.0
"""Full-graph GNN training by several workers, with interchangeable transports of boundary features.

>>> from offramp.train import TrainSettings, train_graph
>>> settings = TrainSettings(graph="karate", workers=1, epochs=1, hidden=8, propagator="local")
>>> train_graph(settings.load(), settings).as_dict()["epochs"]
1
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from offramp_base.lazy import face

# Threads that wait for each other must not spin: on a machine whose cores are shared (with the switch, with other
# workers) spinning was measured to make a run fifteen times longer. OpenMP reads this when PyTorch loads it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from offramp.switchgnn.fabric import SwitchEndpoint as SwitchEndpoint
    from offramp.switchgnn.fabric import SwitchFabric as SwitchFabric
    from offramp.switchgnn.fabric import parse_ports as parse_ports
    from offramp.switchgnn.leaf_spine_fabric import LeafSpineFabric as LeafSpineFabric
    from offramp.train.planned import plan_run as plan_run
    from offramp.train.results import Epoch as Epoch
    from offramp.train.results import TrainingResult as TrainingResult
    from offramp.train.run import TrainingFabric as TrainingFabric
    from offramp.train.run import train as train_graph
    from offramp.train.settings import TrainSettings as TrainSettings
    from offramp.train.trainer import Trainer as Trainer
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Epoch": "offramp.train.results",
            "LeafSpineFabric": "offramp.switchgnn.leaf_spine_fabric",
            "SwitchEndpoint": "offramp.switchgnn.fabric",
            "SwitchFabric": "offramp.switchgnn.fabric",
            "TrainSettings": "offramp.train.settings",
            "Trainer": "offramp.train.trainer",
            "TrainingFabric": "offramp.train.run",
            "TrainingResult": "offramp.train.results",
            "parse_ports": "offramp.switchgnn.fabric",
            "plan_run": "offramp.train.planned",
            "train_graph": "offramp.train.run:train",
        },
    )
