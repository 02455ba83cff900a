# SPDX-License-Identifier: Apache-2.0
"""Collectives on simulated networks: metrics, changing speeds, jitter between NPUs, training iterations.

>>> from offramp.themis import Scheduler, load_network
>>> from offramp_sim.themis import SimulatedNetwork, load_workload, train
>>> network = load_network("2D-SW_SW")
>>> workload = load_workload("resnet-152", network)
>>> train(workload, network, Scheduler.THEMIS_SCF).waiting <= train(workload, network, Scheduler.BASELINE).waiting
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.themis.iteration import Breakdown as Breakdown
    from offramp_sim.themis.iteration import IdealNetwork as IdealNetwork
    from offramp_sim.themis.iteration import SimulatedNetwork as SimulatedNetwork
    from offramp_sim.themis.iteration import train as train
    from offramp_sim.themis.metrics import utilisation as utilisation
    from offramp_sim.themis.picture import draw_plans as draw_plans
    from offramp_sim.themis.speeds import SpeedProfile as SpeedProfile
    from offramp_sim.themis.speeds import run_adaptive as run_adaptive
    from offramp_sim.themis.workload import LayerCollective as LayerCollective
    from offramp_sim.themis.workload import TrainingWorkload as TrainingWorkload
    from offramp_sim.themis.workload import WorkloadLayer as WorkloadLayer
    from offramp_sim.themis.workload_file import load_workload as load_workload
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Breakdown": "offramp_sim.themis.iteration",
            "IdealNetwork": "offramp_sim.themis.iteration",
            "LayerCollective": "offramp_sim.themis.workload",
            "SimulatedNetwork": "offramp_sim.themis.iteration",
            "SpeedProfile": "offramp_sim.themis.speeds",
            "TrainingWorkload": "offramp_sim.themis.workload",
            "WorkloadLayer": "offramp_sim.themis.workload",
            "draw_plans": "offramp_sim.themis.picture",
            "load_workload": "offramp_sim.themis.workload_file",
            "run_adaptive": "offramp_sim.themis.speeds",
            "train": "offramp_sim.themis.iteration",
            "utilisation": "offramp_sim.themis.metrics",
        },
    )
