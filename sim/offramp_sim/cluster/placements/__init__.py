# SPDX-License-Identifier: Apache-2.0
"""Placements: which free GPUs a job gets. Packages bring their own by entry points (:data:`PLACEMENTS`)."""

from __future__ import annotations

from offramp_sim.cluster.placements.gpus import PLACEMENTS as PLACEMENTS
from offramp_sim.cluster.placements.gpus import FreeGpus as FreeGpus
from offramp_sim.cluster.placements.gpus import GpuPlacement as GpuPlacement
