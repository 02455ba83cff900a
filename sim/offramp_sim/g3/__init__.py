# SPDX-License-Identifier: Apache-2.0
"""Full-graph training on simulated machines: G3's pipelines with their stages and links.

>>> from offramp.graph import generate_graph, partition_graph
>>> from offramp_sim.g3 import MODES, Costs, simulate
>>> graph = generate_graph("rmat:scale=8,degree=8", None, seed=1)
>>> owner = partition_graph(graph, 2, "random", seed=1)
>>> seconds = {m: simulate(graph, owner, [16, 8, 4], m, Costs(), targets=20).seconds for m in MODES}
>>> seconds["g3"] <= seconds["sequential"]
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.g3.measured import MeasuredRun as MeasuredRun
    from offramp_sim.g3.measured import run_timed as run_timed
    from offramp_sim.g3.minibatch import MiniBatchWork as MiniBatchWork
    from offramp_sim.g3.minibatch import replicated as replicated
    from offramp_sim.g3.minibatch import sampled as sampled
    from offramp_sim.g3.pipeline import MODES as MODES
    from offramp_sim.g3.pipeline import Costs as Costs
    from offramp_sim.g3.pipeline import EngineSpan as EngineSpan
    from offramp_sim.g3.pipeline import Mode as Mode
    from offramp_sim.g3.pipeline import Pipelined as Pipelined
    from offramp_sim.g3.pipeline import simulate as simulate
    from offramp_sim.g3.study import train_here as train_here
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Costs": "offramp_sim.g3.pipeline",
            "EngineSpan": "offramp_sim.g3.pipeline",
            "MODES": "offramp_sim.g3.pipeline",
            "MeasuredRun": "offramp_sim.g3.measured",
            "MiniBatchWork": "offramp_sim.g3.minibatch",
            "Mode": "offramp_sim.g3.pipeline",
            "Pipelined": "offramp_sim.g3.pipeline",
            "replicated": "offramp_sim.g3.minibatch",
            "run_timed": "offramp_sim.g3.measured",
            "sampled": "offramp_sim.g3.minibatch",
            "simulate": "offramp_sim.g3.pipeline",
            "train_here": "offramp_sim.g3.study",
        },
    )
