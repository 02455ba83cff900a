# SPDX-License-Identifier: Apache-2.0
"""A training job: model, parallel degrees, batch, schedule, and the cluster that it runs on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from offramp.hermod.factors import hermod_policy
from offramp.hermod.models import DecoderTransformer, preset
from offramp_base.errors import OfframpError

SCHEDULES: Final = ("1f1b", "interleaved")


@dataclass(frozen=True, slots=True)
class HermodJob:
    """One job that owns a cluster (thesis, section 5.2.1).

    Attributes:
        pp, tp, ep: degrees of pipeline, tensor and expert parallelism; dp is what is left of the GPUs.
        micro_batch, sequence: sequences in a microbatch, tokens in a sequence.
        micro_batches: in an iteration of one replica.
        schedule, chunks: ``1f1b``, or ``interleaved`` with this many model chunks per worker.
        iteration_barrier: whether the next iteration waits for all AllGathers (clip by norm).
        imbalance: standard deviation of the logarithm of the experts' popularity, drawn for each sender.
        jitter: relative standard deviation of the time of each computation.
        gpus_per_server, nics_per_server, nic_gbps: GPUs and NICs per server, and a NIC's rate in Gb/s.
        gpu_tflops, efficiency: the speed that computation reaches is their product.
        gradient_bytes: bytes of a gradient in the ReduceScatter; parameters and activations have 2.

    Raises:
        OfframpError: degrees that do not divide, or a value out of range.
    """

    model: DecoderTransformer
    gpus: int
    pp: int
    tp: int = 1
    ep: int = 1
    micro_batch: int = 4
    sequence: int = 4096
    micro_batches: int = 8
    schedule: str = "1f1b"
    chunks: int = 1
    iteration_barrier: bool = False
    imbalance: float = 0.0
    jitter: float = 0.0
    gpus_per_server: int = 8
    nics_per_server: int = 8
    nic_gbps: float = 100.0
    gpu_tflops: float = 312.0
    efficiency: float = 0.45
    gradient_bytes: int = 4

    def __post_init__(self) -> None:
        for f in fields(self):
            _check_range(f.name, getattr(self, f.name))
        if self.schedule not in SCHEDULES:
            raise OfframpError(f"schedule {self.schedule}: expected {' or '.join(SCHEDULES)}")
        if self.schedule == "1f1b" and self.chunks != 1:
            raise OfframpError(f"chunks {self.chunks}: 1f1b has one, expected 1 or schedule interleaved")
        if self.interleaved and self.chunks < 2:
            raise OfframpError(f"chunks {self.chunks}: interleaved needs at least 2")
        _divides("gpus", self.gpus, "pp x tp", self.pp * self.tp)
        _divides("layers", self.model.layers, "pp x chunks", self.pp * self.chunks)
        _divides("gpus_per_server", self.gpus_per_server, "tp", self.tp)
        _divides("gpus_per_server", self.gpus_per_server, "nics_per_server", self.nics_per_server)
        if self.gpus > self.gpus_per_server:
            _divides("gpus", self.gpus, "gpus_per_server", self.gpus_per_server)
        share = self.gpus_per_server // self.nics_per_server
        if share % self.tp and self.tp % share:
            raise OfframpError(f"tp {self.tp}: {share} GPUs share a NIC, expected a divisor or a multiple of it")
        if self.interleaved:
            _divides("micro_batches", self.micro_batches, "pp", self.pp)
        self._check_experts()

    def _check_experts(self) -> None:
        if not self.model.experts:
            if self.ep != 1:
                raise OfframpError(f"ep {self.ep}: {self.model.name} has no experts, expected 1")
            return
        _divides("experts", self.model.experts, "ep", self.ep)
        _divides("tp x dp", self.tp * self.dp, "ep", self.ep)
        _divides("dp", self.dp, "the workers of an EP group", self.expert_workers)
        _divides("ep", self.ep, "the workers of an EP group", self.expert_workers)
        _divides("dp", self.dp, "the workers with copies of an expert", self.expert_servers)

    @property
    def interleaved(self) -> bool:
        """Whether the pipeline schedule is interleaved 1F1B."""
        return self.schedule == "interleaved"

    @property
    def dp(self) -> int:
        """Replicas of all but the experts."""
        return self.gpus // (self.pp * self.tp)

    @property
    def workers(self) -> int:
        """A worker is the TP group of one stage of one replica: its GPUs do the same at the same time."""
        return self.pp * self.dp

    @property
    def expert_workers(self) -> int:
        """Workers of an EP group, which spans as many as there are."""
        return min(self.ep, self.dp)

    @property
    def expert_copies(self) -> int:
        """GPUs that hold the same experts."""
        return self.tp * self.dp // self.ep

    @property
    def expert_servers(self) -> int:
        """Workers among which the copies of an expert are spread."""
        return min(self.expert_copies, self.dp)

    @property
    def tokens(self) -> int:
        """Tokens in a microbatch."""
        return self.micro_batch * self.sequence

    @property
    def local_experts(self) -> int:
        """Routed experts on a GPU."""
        return self.model.experts // self.ep

    @property
    def policy(self) -> str:
        """Hermod's order for the schedule."""
        return hermod_policy(interleaved=self.interleaved)

    def layer_seconds(self) -> tuple[float, float]:
        """Forward time of a layer's attention (with gate) and of its experts or MLP; backward takes twice that."""
        speed = self.gpu_tflops * 1e12 * self.efficiency * self.tp
        model = self.model
        return model.attention_flops(self.tokens, self.sequence) / speed, model.ffn_flops(self.tokens) / speed

    def pp_bytes(self) -> float:
        """Bytes that a GPU sends over a stage boundary for a microbatch."""
        return self.tokens * self.model.hidden * 2 / self.tp

    def ep_bytes(self) -> float:
        """Bytes that a GPU puts into an all-to-all, with those that it keeps for itself."""
        return self.tokens * self.model.top_k * self.model.hidden * 2 / self.tp if self.model.experts else 0.0

    def dense_parameters(self) -> float:
        """Parameters of a layer on a GPU, all but the routed experts."""
        return self.model.dense_parameters / self.tp

    def expert_parameters(self) -> float:
        """Parameters of a layer's routed experts on a GPU."""
        return float(self.local_experts * self.model.expert_parameters)

    def as_json(self) -> dict[str, Any]:
        """All fields, the model by name."""
        return {**asdict(self), "model": self.model.name, "dp": self.dp}


_MAY_BE_ZERO: Final = {"imbalance", "jitter"}


def _check_range(name: str, value: Any) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        least = "0 or more" if name in _MAY_BE_ZERO else "more than 0"
        if not (value >= 0 if name in _MAY_BE_ZERO else value > 0) or value == float("inf"):
            raise OfframpError(f"{name} {value:g}: expected {least}")


def _divides(what: str, whole: int, by: str, part: int) -> None:
    if whole % part:
        raise OfframpError(f"{what} {whole}: not divisible by {by} = {part}")


_TESTBED: Final[dict[str, Any]] = {"nics_per_server": 2}
"""Two 100 Gb/s NICs for 8 GPUs (thesis, section 5.5.1)."""


def named_job(name: str, **changes: Any) -> HermodJob:
    """A model of table 5.5 with the thesis's parallelism on the thesis's cluster, with changes.

    Raises:
        OfframpError: no such model, or values that do not fit.
    """
    row = preset(name)
    values: dict[str, Any] = {
        "gpus": row.gpus,
        "pp": row.pp,
        "tp": row.tp,
        "ep": row.ep,
        "sequence": row.sequence,
        "micro_batch": row.micro_batch,
        **({} if row.simulated else _TESTBED),
        **changes,
    }
    return HermodJob(row.model, **values)
