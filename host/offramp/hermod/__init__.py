# SPDX-License-Identifier: Apache-2.0
"""Hermod: coflow priorities from the training DAG, and matchings within a coflow (Wan's thesis, chapter 5).

>>> from offramp.hermod import DscpCodec, CType, Factors, plan_queues
>>> codec = DscpCodec(micro_batches=4, layers=8)
>>> plan = plan_queues(codec, queues=8)
>>> experts, gradients = Factors(mid=0, ctype=CType.EP, lid=0), Factors(mid=3, ctype=CType.DP, lid=0)
>>> plan.queue_of(codec, experts), plan.queue_of(codec, gradients)
(6, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.hermod.build import job_dag as build_dag
    from offramp.hermod.dag import Dag as Dag
    from offramp.hermod.dag import Flows as Flows
    from offramp.hermod.dscp import DscpCodec as DscpCodec
    from offramp.hermod.factors import CType as CType
    from offramp.hermod.factors import Factors as Factors
    from offramp.hermod.factors import hermod_policy as hermod_policy
    from offramp.hermod.job_file import load_job as load_job
    from offramp.hermod.models import preset as preset
    from offramp.hermod.placement import Placement as Placement
    from offramp.hermod.queues import QueuePlan as QueuePlan
    from offramp.hermod.queues import plan_queues as plan_queues
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "CType": "offramp.hermod.factors",
            "Dag": "offramp.hermod.dag",
            "DscpCodec": "offramp.hermod.dscp",
            "Factors": "offramp.hermod.factors",
            "Flows": "offramp.hermod.dag",
            "Placement": "offramp.hermod.placement",
            "QueuePlan": "offramp.hermod.queues",
            "build_dag": "offramp.hermod.build:job_dag",
            "hermod_policy": "offramp.hermod.factors",
            "load_job": "offramp.hermod.job_file",
            "plan_queues": "offramp.hermod.queues",
            "preset": "offramp.hermod.models",
        },
    )
