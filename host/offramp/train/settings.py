# SPDX-License-Identifier: Apache-2.0
"""Everything that decides a training run; a run can be repeated from these alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from offramp.g3.schedule import SCHEDULES
from offramp.graph.order import METHODS as ORDERS
from offramp.graph.partition import METHODS
from offramp.graph.partition_file import names_file
from offramp.models import MODELS
from offramp.models.aggregation import AGGREGATORS
from offramp.switchgnn.leaf_spine import LeafSpine, even_racks
from offramp.switchgnn.scheme import LANE_BITS, Scheme, parse_scheme
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

PROPAGATORS = ("local", "p2p", "switch", "strawman")
PLAIN = "plain"
"""The schedule in which sums over neighbours travel, layer by layer, and autograd does the rest."""
DTYPES = ("float32", "float64")
TARGETS = ("v1model", "v1model-replicated", "tna")
ROW_CODECS = ("sylvie", "adaqp", "q1", "q2", "q4", "q8")
SWITCH_CODECS = ("q1", "q2", "q4", "q8")
CODECS = ("fp32", "fixed", *ROW_CODECS)
SCALES = ("agreed", "carried")
PRIORITIES = ("hermod", "none")
LAYERS = range(2, 65)


@sendable
@dataclass(frozen=True)
class TrainSettings:
    """Settings of a run.

    ``graph``, ``features``, ``labels`` and ``split`` are as :func:`offramp.graph.load.load` takes them,
    ``partition`` and ``racks`` as :func:`offramp.graph.partition.partition`, ``memory`` is in bytes.

    ``target`` is the architecture of the switch's program, and how it reaches all neighbours of a vertex.

    ``schedule`` is when workers compute what and tell each other: :data:`PLAIN`, or one of
    :data:`offramp.g3.schedule.SCHEDULES`, in which neighbours' messages travel, each worker's in ``bins``, by
    default as many as suit the schedule, or in such that two take no more than ``bin_memory`` bytes; ``link_bps``
    emulates network cards of that rate. With ``priorities`` messages and sums of weight gradients are coflows of
    Hermod's end-host scheduler, by its order or first come, first served.

    ``codec`` is how features travel between workers under ``p2p``: as they are, as the integers that a switch would
    add, or as Sylvie's codes of a few bits, as many as its controller or AdaQP decides or always the same; the last
    goes through a switch too, which adds codes that share a step for each sum. Of neighbours' messages a share of
    ``sample`` travels (BNS-GCN).

    A switch always gets integers, ``window`` packets of a worker at a time with ``gap_s`` seconds in between; ``plan``
    is a file that holds the plan of all its exchanges.
    ``scale`` of these integers is agreed before each exchange, or carried from the epoch before, with a repetition
    where a value has outgrown it.

    ``scheme`` names the improvements on the exchange of the paper (:mod:`offramp.switchgnn.scheme`); ``auto``
    lets the planner choose by predicted time, under the rates in the file ``rates``.

    A worker without news asks for what it lacks after ``retry_s`` seconds. ``loss`` and ``duplication`` are
    probabilities for each packet on a worker's link to the switch, in both directions.

    Weights are written to the file ``checkpoint`` after every so many epochs and the last one; a run goes on from the
    file ``resume``.

    With more than one of ``racks`` each has a leaf switch, joined by ``spines``.
    """

    graph: str
    features: str | None = None
    labels: str | None = None
    workers: int = 4
    propagator: str = "switch"
    target: str = "v1model"
    model: str = "gcn"
    aggregator: str = "gcn"
    heads: int = 1
    layers: int = 2
    hidden: int = 64
    epochs: int = 60
    lr: float = 0.01
    dropout: float = 0.0
    dtype: str = "float32"
    schedule: str = PLAIN
    bins: int | None = None
    bin_memory: int | None = None
    link_bps: float | None = None
    sample: float = 1.0
    priorities: str | None = None
    codec: str = "fp32"
    partition: str = "auto"
    memory: int = 4_000_000
    order: str = "gamr"
    split: str | None = None
    seed: int = 0
    timeout_s: float = 60.0
    window: int = 256
    gap_s: float = 0.0
    plan: str | None = None
    scheme: str = "paper"
    rates: str | None = None
    scale: str = "agreed"
    retry_s: float = 1.0
    loss: float = 0.0
    duplication: float = 0.0
    racks: int = 1
    spines: int = 1
    checkpoint: str | None = None
    checkpoint_every: int = 10
    resume: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            OfframpError: names the flag and what it takes.
        """
        _one_of("--propagator", self.propagator, PROPAGATORS)
        _one_of("--target", self.target, TARGETS)
        if self.target != "v1model" and self.propagator != "switch":
            raise OfframpError(f"--target {self.target}: goes with --propagator switch only")
        _one_of("--model", self.model, tuple(MODELS.names()))
        _one_of("--aggregator", self.aggregator, AGGREGATORS)
        _one_of("--dtype", self.dtype, DTYPES)
        _one_of("--schedule", self.schedule, (PLAIN, *SCHEDULES))
        _one_of("--codec", self.codec, CODECS)
        _one_of("--partition", self.partition, (*METHODS, *filter(names_file, (self.partition,))))
        _one_of("--order", self.order, ORDERS)
        for name in ("workers", "hidden", "epochs", "window", "heads", "bins", "bin_memory", "checkpoint_every"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise OfframpError(f"--{name.replace('_', '-')} {getattr(self, name)}: expected at least 1")
        if self.layers not in LAYERS:
            raise OfframpError(f"--layers {self.layers}: expected {LAYERS.start} to {LAYERS.stop - 1}")
        if not self.lr > 0:
            raise OfframpError(f"--lr {self.lr:g}: expected a positive learning rate")
        if not 0 <= self.dropout < 1:
            raise OfframpError(f"--dropout {self.dropout:g}: expected at least 0 and below 1")
        if not self.timeout_s > 0:
            raise OfframpError(f"--timeout {self.timeout_s:g}: expected a positive number of seconds")
        if not 0 <= self.gap_s < self.timeout_s:
            raise OfframpError(f"--gap {self.gap_s:g}: expected at least 0 seconds, less than --timeout")

        _one_of("--scale", self.scale, SCALES)
        if self.scale == "carried" and not self.through_switch:
            raise OfframpError("--scale carried: goes with --propagator switch or strawman only")
        if self.plan is not None and self.propagator != "switch":
            raise OfframpError("--plan: goes with --propagator switch only")
        self._check_scheme()
        if not 0 < self.retry_s < self.timeout_s:
            raise OfframpError(f"--retry {self.retry_s:g}: expected more than 0 seconds, less than --timeout")
        for flag, probability in (("--loss", self.loss), ("--duplicate", self.duplication)):
            if not 0 <= probability < 1:
                raise OfframpError(f"{flag} {probability:g}: expected a probability of at least 0 and below 1")
            if probability and self.propagator != "switch":
                raise OfframpError(f"{flag}: goes with --propagator switch only")

        self._check_racks()
        self._check_rows()

    def _check_rows(self) -> None:
        if self.link_bps is not None and not self.link_bps > 0:
            raise OfframpError(f"--link {self.link_bps:g}: expected a positive rate")
        if not 0 < self.sample <= 1:
            raise OfframpError(f"--sample {self.sample:g}: expected more than 0, at most 1")
        if self.aggregator != "gcn" and self.model != "gcn":
            raise OfframpError(f"--aggregator {self.aggregator}: goes with --model gcn only")
        if self.model == "gat" and self.hidden % self.heads:
            raise OfframpError(f"--hidden {self.hidden}: expected a multiple of --heads {self.heads}")
        if self.priorities is not None:
            _one_of("--priorities", self.priorities, PRIORITIES)
            if not self.by_rows:
                raise OfframpError(f"--priorities {self.priorities}: goes with --schedule other than {PLAIN}")
        if self.bins is not None and self.bin_memory is not None:
            raise OfframpError("--bin-memory: goes without --bins, which it decides")
        if self.by_rows:
            self._check_schedule()
        elif self.by_codes:
            self._check_codes()
        elif self.codec in ROW_CODECS or self.sample < 1:
            flag = f"--codec {self.codec}" if self.codec in ROW_CODECS else f"--sample {self.sample:g}"
            raise OfframpError(f"{flag}: goes with --schedule other than {PLAIN}")
        elif self.model == "gat":
            raise OfframpError(
                "--model gat: needs neighbours' messages, not their sums: --schedule g3 or sequential, "
                "with --propagator p2p"
            )
        elif self.link_bps is not None:
            raise OfframpError(f"--link: goes with --schedule other than {PLAIN}")
        elif self.dtype != "float32" and (self.through_switch or self.codec != "fp32"):
            raise OfframpError(f"--dtype {self.dtype}: goes with --propagator p2p or local and --codec fp32 only")

    def _check_schedule(self) -> None:
        if self.through_switch:
            raise OfframpError(f"--schedule {self.schedule}: goes with --propagator p2p or local, not through a switch")
        if self.codec == "fixed":
            raise OfframpError(f"--codec fixed: goes with --schedule {PLAIN} only")
        if self.codec in ROW_CODECS and self.dtype != "float32":
            raise OfframpError(f"--codec {self.codec}: goes with --dtype float32 only")
        if self.sample < 1 and (self.model == "gat" or self.codec in {"sylvie", "adaqp"}):
            raise OfframpError(f"--sample {self.sample:g}: not with --model gat, nor --codec sylvie or adaqp")

    def _check_codes(self) -> None:
        scheme, free = parse_scheme(self.scheme)
        if free or scheme.bits < LANE_BITS or scheme.balanced or scheme.binned or self.scale == "carried":
            raise OfframpError(
                f"--codec {self.codec}: through a switch with --scheme paper, chunk-major or hybrid "
                "and --scale agreed only"
            )
        if self.racks > 1 or self.dtype != "float32":
            raise OfframpError(f"--codec {self.codec}: through a switch with one rack and --dtype float32 only")

    @property
    def by_codes(self) -> bool:
        """Whether Sylvie's codes of a few bits are added in the switch."""
        return self.propagator == "switch" and self.codec in SWITCH_CODECS and not self.by_rows

    @property
    def by_rows(self) -> bool:
        """Whether neighbours' states travel, not their sums."""
        return self.schedule != PLAIN

    def _check_racks(self) -> None:
        if self.racks < 1:
            raise OfframpError(f"--racks {self.racks}: expected at least 1")
        if self.racks == 1 and self.spines != 1:
            raise OfframpError("--spines: goes with --racks of at least 2")
        if self.racks > 1 and (self.propagator, self.target) != ("switch", "v1model"):
            raise OfframpError(f"--racks {self.racks}: goes with --propagator switch and --target v1model only")
        _ = self.network  # refuses numbers that do not go together

    @property
    def network(self) -> LeafSpine | None:
        """Where the workers are among leaves; None where there is one switch."""
        return even_racks(self.workers, self.racks, self.spines) if self.racks > 1 else None

    def _check_scheme(self) -> None:
        scheme, free = parse_scheme(self.scheme)
        plain = scheme == Scheme() and not free
        for flag, given in (("--scheme " + self.scheme, not plain), ("--rates", self.rates is not None)):
            if given and self.propagator != "switch":
                raise OfframpError(f"{flag}: goes with --propagator switch only")
        if self.plan is not None and not plain:
            raise OfframpError(f"--scheme {self.scheme}: goes without --plan, which is of the paper's scheme")
        if self.rates is not None and not free:
            raise OfframpError("--rates: goes with --scheme auto only")
        if self.racks > 1 and (scheme.pairwise or scheme.hybrid):
            raise OfframpError(f"--scheme {self.scheme}: pairwise and hybrid go with one switch only, not with --racks")
        if scheme.bits < LANE_BITS and self.scale == "carried":
            raise OfframpError(f"--scheme {self.scheme}: goes with --scale agreed only")

    @property
    def processes(self) -> int:
        """Workers that really run: ``local`` holds the whole graph in one."""
        return 1 if self.propagator == "local" else self.workers

    @property
    def through_switch(self) -> bool:
        """Whether a switch carries the features."""
        return self.propagator in {"switch", "strawman"}

    def as_dict(self) -> dict[str, object]:
        """Field names and values."""
        return asdict(self)


def _one_of(flag: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise OfframpError(f"{flag} {value}: expected one of {', '.join(choices)}")
