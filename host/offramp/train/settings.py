# SPDX-License-Identifier: Apache-2.0
"""All settings that determine a training run; a run can be repeated from these alone."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Final, Self

from offramp.codecs.base import CODECS
from offramp.g3.schedule import SCHEDULES, Schedule, schedule_of
from offramp.graph.order import METHODS as ORDERS
from offramp.graph.partition import methods
from offramp.graph.partition_file import names_file
from offramp.graph.settings import GraphSettings
from offramp.models import MODELS
from offramp.models.aggregation import AGGREGATORS
from offramp.switchgnn.chunks import WIDTHS
from offramp.switchgnn.leaf_spine import LeafSpine, even_racks
from offramp.switchgnn.scheme import LANE_BITS, Scheme, parse_scheme
from offramp.switchgnn.target import TARGETS
from offramp.sylvie.descent import DescentRule
from offramp.sylvie.widths import RANKINGS
from offramp.train.fields import (
    MODEL,
    TRAINING,
    Checkpoint,
    CheckpointEvery,
    Device,
    Dropout,
    Dtype,
    Heads,
    Hidden,
    LearningRate,
    Link,
    Precision,
    Resume,
    Workers,
)
from offramp.train.propagators.registry import IN_TURN, PROPAGATORS, TOGETHER
from offramp.workers.budget import LEAST
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES
from offramp_base.wire.objects import sendable

PLAIN: Final = "plain"
"""The schedule that exchanges sums over neighbours layer by layer, and leaves the rest to autograd."""
EXACT, FIXED = "fp32", "fixed"
"""Codecs for exchanges of sums: floating-point numbers, or the integers that a switch would add."""
EXCHANGE, SWITCH = "Exchange", "Switch"
KEPT, SENT = "kept", "sent"
"""Handling of sums over input features, which never change: exchanged once, or in each epoch."""
ALIKE, READY = "alike", "ready"
"""Bins: one set for all layers, or for each layer within its own limit, of vertices that are ready."""
AUTO_LANES: Final = "auto"
"""Number of lanes of an aggregator chosen for the fewest bytes."""
_SWITCH_ONLY = "goes with {propagator} switch only"


def codec_names() -> list[str]:
    """Names of all codecs."""
    return sorted([*CODECS.names(), FIXED])


@sendable
@dataclass(frozen=True)
class TrainSettings(GraphSettings):
    """Settings of a run.

    ``partition`` and ``racks`` are as for :func:`offramp.graph.partition.partition`, ``memory`` is in bytes.

    ``target`` is the architecture of the switch's program, and its way of reaching all neighbours of a vertex.

    ``schedule`` orders computation and communication: :data:`PLAIN`, or one of :data:`offramp.g3.schedule.SCHEDULES`,
    which exchange neighbours' messages, each worker's in ``bins``: by default as many as suit the schedule, or of a
    size such that two take at most ``bin_memory`` bytes; ``packing`` says whether all layers have the same. A hybrid
    fetches states by ``fetch_cost``. Sylvie's controller compares rates of descent ``descent_lag`` epochs apart.
    ``link_bps`` emulates network cards of that rate. With ``priorities``, messages and sums of weight gradients are
    coflows of Hermod's end-host scheduler, in its order or first come, first served.

    ``codec`` is the format in which features are sent between workers under ``p2p``: unchanged, as the integers that a
    switch would add, or as Sylvie's codes of a few bits, whose number is fixed or decided by its controller or AdaQP;
    codes of a fixed number of bits also work through a switch, which adds codes that share a step for each sum. A
    fraction ``sample`` of neighbours' messages is sent (BNS-GCN).

    Sums over input features do not change from epoch to epoch. By ``first_sums``, workers keep them, however they were
    exchanged, unless as codes with fresh rounding; or they are exchanged again in each epoch.

    A switch always gets integers, ``window`` packets of a worker at a time with ``gap_s`` seconds in between; ``plan``
    is a file with the plan of all its exchanges. ``scale`` of these integers is agreed before each exchange, or carried
    over from the previous epoch, with a repetition if a value has outgrown it.

    ``scheme`` names the improvements on the exchange of the paper (:mod:`offramp.switchgnn.scheme`); ``auto``
    lets the planner choose by predicted time, under the ``rates`` in a file or given as JSON.

    A worker that receives nothing new requests what it lacks after ``retry_s`` seconds. With ``acks``, the owner of a
    sum tells those who contributed (SwitchGNN, section 3.4), and marks reach them. ``loss`` and ``duplication``
    are probabilities for each packet on a worker's link to the switch, in both directions.

    Weights are written to the file ``checkpoint`` at regular intervals and after the last epoch; a run resumes from the
    file ``resume``.

    With more than one of ``racks``, each has a leaf switch, connected by ``spines``.
    """

    propagator: Annotated[
        str,
        Field(
            "Transport of boundary features: in one process (local), from worker to worker (p2p), through a P4 switch, "
            "through a best-effort one (strawman)",
            choices=PROPAGATORS.names,
            group=EXCHANGE,
        ),
    ] = "switch"
    workers: Workers = 4
    partition: Annotated[
        str,
        Field(
            "Assignment of vertices: a file with the worker of each vertex, one per line (METIS's format), or",
            choices=methods,
            besides=names_file,
        ),
    ] = "auto"
    link_bps: Link = None
    model: Annotated[str, Field("Graph neural network", choices=MODELS.names, group=MODEL)] = "gcn"
    layers: Annotated[int, Field("Graph convolution layers", least=2, most=64)] = 2
    hidden: Hidden = 64
    heads: Heads = 1
    aggregator: Annotated[str, Field("Sums of gcn", choices=AGGREGATORS)] = "gcn"
    epochs: Annotated[int, Field("Full-batch steps", least=1, group=TRAINING)] = 60
    lr: LearningRate = 0.01
    dropout: Dropout = 0.0
    dtype: Dtype = "float32"
    device: Device = "cpu"
    precision: Precision = "dtype"
    sample: Annotated[float, Field("Fraction of neighbours' messages that is sent (BNS-GCN)", above=0, most=1)] = 1.0
    peers: Annotated[
        str,
        Field(
            "Rows of other workers",
            choices={TOGETHER: "", IN_TURN: "one worker's after another's, summed and dropped (SAR)"},
        ),
    ] = TOGETHER
    schedule: Annotated[
        str,
        Field(
            "Order of computation and communication",
            choices={
                PLAIN: "sends sums, layer by layer; the others send states, in bins",
                **dict.fromkeys(SCHEDULES, ""),
                "stale": "states of the previous epoch",
                "adaptive": "Sylvie decides",
                "isolated": "nothing is sent",
                "hybrid": "states are fetched or recomputed, by cost (NeutronStar)",
            },
            group=EXCHANGE,
        ),
    ] = PLAIN
    bins: Annotated[
        int | None, Field("Bins of each worker's vertices; default: 8, or 1 if nothing overlaps", least=1)
    ] = None
    descent_lag: Annotated[int, Field("Epochs over which Sylvie compares rates of loss descent (δ)", least=1)] = (
        DescentRule.lag
    )
    bin_memory: Annotated[
        int | None, Field("Memory that two bins of a worker may take, instead of bins: 8MB", least=1, unit=BYTES)
    ] = None
    packing: Annotated[
        str,
        Field(
            "Bins of the layers",
            choices={ALIKE: "the same", READY: "by each layer's widths, greedily of vertices that are ready (G3)"},
        ),
    ] = ALIKE
    fetch_cost: Annotated[
        float | None,
        Field(
            "Cost of fetching a value under the hybrid schedule, in values that a sum over neighbours reads; "
            "by default 8, or as the link takes",
            least=0,
        ),
    ] = None
    worker_memory: Annotated[
        int | None,
        Field(
            "Most memory that a worker's training may take; bins, if there are any, are streamed from mapped files and "
            "computed again on the way back, by default two in an eighth of it: 64MB",
            least=LEAST,
            unit=BYTES,
        ),
    ] = None
    priorities: Annotated[
        str | None,
        Field(
            "Messages and sums of gradients as coflows of Hermod's end-host scheduler; over gloo by default",
            choices={"hermod": "by priority", "none": "first come, first served"},
        ),
    ] = None
    codec: Annotated[
        str,
        Field(
            "Features between workers: unchanged (fp32), as a switch gets them (fixed), in a few bits that Sylvie "
            "(sylvie) or AdaQP (adaqp) chooses, or in a fixed number of bits",
            choices=codec_names,
        ),
    ] = EXACT
    ranking: Annotated[
        str,
        Field(
            "Sylvie's ranking of boundary vertices by degree: of vertices (ecdf, the public code's; middle: equal "
            "degrees share their middle rank), or of different degrees (dense: few rows get many bits)",
            choices=RANKINGS.names,
        ),
    ] = "ecdf"
    pool: Annotated[
        str,
        Field(
            "Boundary vertices that Sylvie ranks together",
            choices={"pairs": "of one pair of workers, as its public code", "all": "of all workers, as the thesis"},
        ),
    ] = "pairs"
    first_sums: Annotated[
        str,
        Field(
            "Sums over input features, which never change",
            choices={KEPT: "from the first epoch on", SENT: "again in each epoch"},
        ),
    ] = KEPT
    memory: Annotated[int, Field("Aggregator memory of the switch: 4MB, 512KiB", least=1, unit=BYTES, group=SWITCH)] = (
        4_000_000
    )
    lanes: Annotated[
        str,
        Field(
            "32-bit lanes per aggregator, and most lanes per packet: 32, as in the paper, 64 or 128",
            choices={AUTO_LANES: "least bytes", **{str(lanes): "" for lanes in WIDTHS}},
        ),
    ] = AUTO_LANES
    target: Annotated[
        str,
        Field(
            "The switch's program",
            choices={
                "v1model": "",
                "v1model-replicated": "copies instead of passes",
                "tna": "Tofino",
                "fpga": "a card",
            },
        ),
    ] = "v1model"
    racks: Annotated[int, Field("Racks of workers, with a leaf switch each", least=1)] = 1
    spines: Annotated[int, Field("Spine switches that connect the leaves", least=1)] = 1
    order: Annotated[str, Field("Upload order", choices=ORDERS)] = "gamr"
    scheme: Annotated[
        str,
        Field("paper, auto (least predicted time), or pairwise, chunk-major, hybrid, balanced, binned, q16, q8 by +"),
    ] = "paper"
    rates: Annotated[
        str | None, Field("Rates for the scheme auto: a JSON file as of offramp plan, or JSON itself", metavar="FILE")
    ] = None
    plan: Annotated[
        str | None, Field("Plan from offramp plan --save, for layers of one width; by default, made here")
    ] = None
    scale: Annotated[
        str, Field("Fixed-point scale of each exchange", choices={"agreed": "", "carried": "from the previous epoch"})
    ] = "agreed"
    window: Annotated[int, Field("Packets that a worker sends at a time", least=1)] = 256
    gap_s: Annotated[
        float, Field("Seconds between them, for a switch that drops excess packets (bmv2)", key="gap", least=0)
    ] = 0.0
    timeout_s: Annotated[
        float, Field("Seconds without anything new until an exchange fails", key="timeout", above=0)
    ] = 60.0
    retry_s: Annotated[
        float, Field("Seconds without anything new until a worker requests what it lacks", key="retry", above=0)
    ] = 1.0
    acks: Annotated[
        bool,
        Field(
            "Acknowledge each sum to those who contributed; who hears nothing repeats uploads before anything is "
            "requested"
        ),
    ] = False
    loss: Annotated[float, Field("Probability that a link loses a packet, for tests", least=0, below=1)] = 0.0
    duplication: Annotated[
        float, Field("Probability that a link duplicates a packet", key="duplicate", least=0, below=1)
    ] = 0.0
    checkpoint: Checkpoint = None
    checkpoint_every: CheckpointEvery = 10
    resume: Resume = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot be run.

        Raises:
            SettingsError: names the field and what it takes.
        """
        super().__post_init__()
        self._check_exchange()
        self._check_scheme()
        self._check_racks()
        self._check_rows()

    def by(self, propagator: str) -> Self:
        """The same training with another propagator, for comparison; weights are neither written nor resumed.

        Settings that apply only to this run's propagator get their defaults.
        """
        defaults = {each.name: each.default for each in fields(self)}
        changes: dict[str, Any] = {"propagator": propagator, "checkpoint": None, "resume": None}
        while True:
            try:
                return replace(self, **changes)
            except SettingsError as error:
                if error.field in changes:
                    raise
                changes[error.field] = defaults[error.field]

    @property
    def is_exact(self) -> bool:
        """Whether an epoch computes what one worker would: nothing is rounded on the way, late, sampled or left out."""
        schedule = Schedule() if self.schedule == PLAIN else schedule_of(self.schedule)
        whole = not (schedule.stale or schedule.adaptive or schedule.isolated)
        return whole and self.codec == EXACT and self.sample == 1 and parse_scheme(self.scheme)[0].bits == LANE_BITS

    def _check_exchange(self) -> None:
        if self.gap_s >= self.timeout_s:
            raise SettingsError("gap_s", "expected less than {timeout_s}", self.gap_s)
        if self.retry_s >= self.timeout_s:
            raise SettingsError("retry_s", "expected less than {timeout_s}", self.retry_s)
        for field, given in (
            ("target", self.target != "v1model"),
            ("lanes", self.lanes != AUTO_LANES),
            ("plan", self.plan is not None),
            ("acks", self.acks),
            ("loss", self.loss > 0),
            ("duplication", self.duplication > 0),
        ):
            if given and self.propagator != "switch":
                raise SettingsError(field, _SWITCH_ONLY, getattr(self, field))
        if not set(self.lanes_to_try) <= set(TARGETS[self.target].lanes):
            expected = ", ".join(map(str, TARGETS[self.target].lanes))
            raise SettingsError("lanes", f"expected {expected} with {{target}} {self.target}", self.lanes)
        if self.plan is not None and self.lanes != AUTO_LANES:
            raise SettingsError("lanes", "goes without {plan}, which has them", self.lanes)
        if self.scale == "carried" and not self.through_switch:
            raise SettingsError("scale", "goes with {propagator} switch or strawman only", "carried")

    def _check_rows(self) -> None:
        if self.aggregator != "gcn" and self.model != "gcn":
            raise SettingsError("aggregator", "goes with {model} gcn only", self.aggregator)
        model = MODELS.get(self.model)
        model.check(self)
        if self.bins is not None and self.bin_memory is not None:
            raise SettingsError("bin_memory", "goes without {bins}, which it decides")
        if self.peers == IN_TURN and (self.propagator != "p2p" or self.schedule != PLAIN):
            raise SettingsError("peers", f"goes with {{propagator}} p2p and {{schedule}} {PLAIN} only", self.peers)
        if self.worker_memory is not None and self.device != "cpu":
            raise SettingsError("worker_memory", "goes with {device} cpu only", self.worker_memory)
        if self.by_halo_features:
            if self.precision != "dtype":
                raise SettingsError("precision", "goes with {schedule} plain only", self.precision)
            self._check_schedule()
            return
        if self.by_codes:
            self._check_codes()
        if not model.by_sums:
            raise SettingsError(
                "model",
                "needs neighbours' messages, not their sums: {schedule} g3 or sequential, with {propagator} p2p",
                self.model,
            )
        for field, given in (
            ("priorities", self.priorities is not None),
            ("codec", self.codec not in (EXACT, FIXED) and not self.by_codes),
            ("sample", self.sample < 1),
            ("descent_lag", self.descent_lag != DescentRule.lag),
            ("ranking", self.ranking != "ecdf"),
            ("pool", self.pool != "pairs"),
            ("packing", self.packing != ALIKE),
            ("fetch_cost", self.fetch_cost is not None),
            ("link_bps", self.link_bps is not None),
        ):
            if given:
                raise SettingsError(field, f"goes with {{schedule}} other than {PLAIN}", getattr(self, field))
        if self.dtype != "float32" and (self.through_switch or self.codec != EXACT):
            raise SettingsError("dtype", "goes with {propagator} p2p or local and {codec} fp32 only", self.dtype)

    def _check_schedule(self) -> None:
        if self.through_switch:
            raise SettingsError("schedule", "goes with {propagator} p2p or local, not through a switch", self.schedule)
        if schedule_of(self.schedule).recomputes:
            self._check_hybrid()
        elif self.fetch_cost is not None:
            raise SettingsError("fetch_cost", "goes with {schedule} hybrid only", self.fetch_cost)
        if self.codec == FIXED:
            raise SettingsError("codec", f"goes with {{schedule}} {PLAIN} only", self.codec)
        if self.descent_lag != DescentRule.lag and not self.adapts:
            raise SettingsError("descent_lag", "goes with {schedule} adaptive or {codec} sylvie only", self.descent_lag)
        for field, usual in (("ranking", "ecdf"), ("pool", "pairs")):
            if getattr(self, field) != usual and self.codec != "sylvie":
                raise SettingsError(field, "goes with {codec} sylvie only", getattr(self, field))
        if self.codec != EXACT and self.dtype != "float32":
            raise SettingsError("codec", "goes with {dtype} float32 only", self.codec)
        if self.sample < 1 and not (MODELS.get(self.model).by_sums and CODECS.get(self.codec).samples):
            raise SettingsError("sample", "not with models of attention, nor {codec} sylvie or adaqp", self.sample)

    def _check_hybrid(self) -> None:
        for field, usual in (
            ("codec", EXACT),
            ("sample", 1.0),
            ("bins", None),
            ("bin_memory", None),
            ("packing", ALIKE),
            ("worker_memory", None),
            ("priorities", None),
        ):
            if getattr(self, field) != usual:
                raise SettingsError(field, "goes with {schedule} other than hybrid", getattr(self, field))

    def _check_codes(self) -> None:
        scheme, free = parse_scheme(self.scheme)
        if free or scheme.bits < LANE_BITS or scheme.balanced or scheme.binned or self.scale == "carried":
            problem = "through a switch with {scheme} paper, chunk-major or hybrid and {scale} agreed only"
            raise SettingsError("codec", problem, self.codec)
        if self.racks > 1 or self.dtype != "float32":
            raise SettingsError("codec", "through a switch with one rack and {dtype} float32 only", self.codec)

    @property
    def lanes_to_try(self) -> tuple[int, ...]:
        """Lanes that aggregators may have, ascending; chunk-major schemes use narrow slices to save memory."""
        if self.lanes != AUTO_LANES:
            return (int(self.lanes),)
        scheme, free = parse_scheme(self.scheme)
        return WIDTHS[:1] if scheme.chunk_major and not free else TARGETS[self.target].lanes

    @property
    def memory_of_bins(self) -> int | None:
        """Memory that two bins may take; None if their number is given."""
        return self.worker_memory // 8 if self.worker_memory is not None and self.streams else self.bin_memory

    @property
    def streams(self) -> bool:
        """Whether a limit on a worker's memory decides the size of bins, the pieces of the graph included."""
        return self.worker_memory is not None and self.bins is None and self.bin_memory is None

    @property
    def by_codes(self) -> bool:
        """Whether the switch sums Sylvie's codes of a few bits."""
        if self.propagator != "switch" or self.by_halo_features or self.codec == FIXED:
            return False
        return CODECS.get(self.codec).summable

    @property
    def by_halo_features(self) -> bool:
        """Whether neighbours' states are sent, not their sums."""
        return self.schedule != PLAIN

    @property
    def adapts(self) -> bool:
        """Whether Sylvie's controller decides anything."""
        return SCHEDULES[self.schedule].adaptive or CODECS.get(self.codec).bits is None

    def _check_racks(self) -> None:
        if self.racks == 1 and self.spines != 1:
            raise SettingsError("spines", "goes with {racks} of at least 2")
        if self.racks > 1 and (self.propagator, self.target) != ("switch", "v1model"):
            raise SettingsError("racks", "goes with {propagator} switch and {target} v1model only", self.racks)
        _ = self.network  # refuses numbers that do not go together

    @property
    def network(self) -> LeafSpine | None:
        """Location of the workers in a leaf-spine network; None for a single switch."""
        return even_racks(self.workers, self.racks, self.spines) if self.racks > 1 else None

    def _check_scheme(self) -> None:
        scheme, free = parse_scheme(self.scheme)
        plain = scheme == Scheme() and not free
        for field, given in (("scheme", not plain), ("rates", self.rates is not None)):
            if given and self.propagator != "switch":
                raise SettingsError(field, _SWITCH_ONLY, getattr(self, field))
        if self.plan is not None and not plain:
            raise SettingsError("scheme", "goes without {plan}, which is of the paper's scheme", self.scheme)
        if self.rates is not None and not free:
            raise SettingsError("rates", "goes with {scheme} auto only")
        if self.racks > 1 and (scheme.pairwise or scheme.hybrid):
            raise SettingsError("scheme", "pairwise and hybrid go with one switch only, not with {racks}", self.scheme)
        if scheme.bits < LANE_BITS and self.scale == "carried":
            raise SettingsError("scheme", "goes with {scale} agreed only", self.scheme)

    @property
    def processes(self) -> int:
        """Number of worker processes: ``local`` keeps the whole graph in one."""
        return 1 if PROPAGATORS.get(self.propagator).alone else self.workers

    @property
    def through_switch(self) -> bool:
        """Whether a switch carries the features."""
        return PROPAGATORS.get(self.propagator).through_switch
