# SPDX-License-Identifier: Apache-2.0
"""Sizes of a job's parameters and messages (specification section 9)."""

from __future__ import annotations

from typing import Any

from offramp.hermod.job import HermodJob


def sizes(job: HermodJob) -> dict[str, Any]:
    """Degrees, parameters, bytes a GPU sends, and milliseconds at a GPU's share of the NICs."""
    model = job.model
    attention, ffn = job.layer_seconds()
    bytes_per_s = job.nic_gbps * 1e9 / 8 * job.nics_per_server / job.gpus_per_server
    leaving = job.ep_bytes() * (job.ep - 1) / job.ep
    return {
        "layers": model.layers,
        "experts": model.experts,
        "gpus": job.gpus,
        "pp": job.pp,
        "tp": job.tp,
        "ep": job.ep,
        "dp": job.dp,
        "parameters, G": model.parameters / 1e9,
        "active, G": model.active_parameters / 1e9,
        "dense parameters a layer and GPU, M": job.dense_parameters() / 1e6,
        "expert parameters a layer and GPU, M": job.expert_parameters() / 1e6,
        "PP message, MB": job.pp_bytes() / 1e6,
        "EP message, MB": job.ep_bytes() / 1e6,
        "EP leaving the GPU, MB": leaving / 1e6,
        "forward attention, ms": attention * 1e3,
        "forward experts or MLP, ms": ffn * 1e3,
        "PP, ms": job.pp_bytes() / bytes_per_s * 1e3,
        "EP, ms": leaving / bytes_per_s * 1e3,
    }
