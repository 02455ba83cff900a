# SPDX-License-Identifier: Apache-2.0
"""LEO's queue model: paths of servers, links and delays, a network with jitter, and selection rules.

>>> from offramp_sim.leo import RequestLoad, PathRule, make_setting, simulate_queues
>>> setting = make_setting("bursts", number=0, requests=500)
>>> outcome = simulate_queues(setting.routes, setting.load, PathRule(), seed=1)
>>> len(outcome.path)
500
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.leo.cache import CacheLoadSettings as CacheLoadSettings
    from offramp_sim.leo.classes import make_setting as make_setting
    from offramp_sim.leo.load import RequestLoad as RequestLoad
    from offramp_sim.leo.simulate import PathRule as PathRule
    from offramp_sim.leo.simulate import QueueModelResult as QueueModelResult
    from offramp_sim.leo.simulate import Slowdown as Slowdown
    from offramp_sim.leo.simulate import simulate as simulate_queues
    from offramp_sim.leo.study import Study as Study
    from offramp_sim.leo.study import parse_rule as parse_rule
    from offramp_sim.leo.study import run_study as run_study
    from offramp_sim.leo.sustained import sustained_mrps as sustained_mrps
    from offramp_sim.leo.sweep import run_sweep as run_sweep
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "CacheLoadSettings": "offramp_sim.leo.cache",
            "PathRule": "offramp_sim.leo.simulate",
            "QueueModelResult": "offramp_sim.leo.simulate",
            "RequestLoad": "offramp_sim.leo.load",
            "Slowdown": "offramp_sim.leo.simulate",
            "Study": "offramp_sim.leo.study",
            "make_setting": "offramp_sim.leo.classes",
            "parse_rule": "offramp_sim.leo.study",
            "run_study": "offramp_sim.leo.study",
            "run_sweep": "offramp_sim.leo.sweep",
            "simulate_queues": "offramp_sim.leo.simulate:simulate",
            "sustained_mrps": "offramp_sim.leo.sustained",
        },
    )
