# SPDX-License-Identifier: Apache-2.0
"""The text workloads of ASTRA-sim 1, and SimAI's, which AICB writes.

The first line is the parallelism with its parameters, the second the number of layers, then a line for each layer:
name, a reserved number, and for the forward pass, the gradients of inputs and those of weights each a time in
nanoseconds, a collective and its bytes; at last an update time, which is not used, and in ``HYBRID_CUSTOMIZED`` the
layer's own parallelism. The parallelism decides who takes part:

====================================================  =====================  ==================
parallelism                                           forward, input         weight
====================================================  =====================  ==================
DATA, MICRO, HYBRID_DLRM                              nobody                 all
MODEL, DISTRIBUTED_INFERENCE, first layer of a DLRM   all                    nobody (DLRM: all)
HYBRID_DATA_MODEL                                     the first dimension    the others
HYBRID_MODEL_DATA                                     the other dimensions   the first
HYBRID_TRANSFORMER, …_FWD_IN_BCKWD                    the model's group      its copies
====================================================  =====================  ==================

SimAI adds ``ep``, ``pp``, ``vpp``, ``ga`` and ``all_gpus`` to the first line, and ``_EP`` and ``_DP_EP`` to the name of
a collective: among ranks with different experts, and among ranks with the same ones. One of its files describes one
stage of the pipeline in an iteration.

The bytes of an all-gather are those of each NPU before it in ASTRA-sim, and those of each NPU after it in SimAI.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from offramp.themis.network import Collective, Network
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload, WorkloadLayer

_COLLECTIVES: Final = {
    "ALLREDUCE": Collective.ALL_REDUCE,
    "ALLGATHER": Collective.ALL_GATHER,
    "REDUCESCATTER": Collective.REDUCE_SCATTER,
    "ALLTOALL": Collective.ALL_TO_ALL,
}
_GROUPS: Final = {"_DP_EP": CommunicationScope.EXPERT_DATA, "_EP": CommunicationScope.EXPERT}
_Scopes = tuple[CommunicationScope | None, CommunicationScope | None]
"""Scopes of communication in the forward and input-gradient passes, and in the weight-gradient pass; None: none."""
_SCOPES: Final[dict[str, _Scopes]] = {
    "DATA": (None, CommunicationScope.ALL),
    "MICRO": (None, CommunicationScope.ALL),
    "HYBRID_DLRM": (None, CommunicationScope.ALL),
    "HYBRID_DLRM_ENHANCED": (None, CommunicationScope.ALL),
    "MODEL": (CommunicationScope.ALL, None),
    "DISTRIBUTED_INFERENCE": (CommunicationScope.ALL, None),
    "HYBRID_DATA_MODEL": (CommunicationScope.FIRST, CommunicationScope.REST),
    "HYBRID_MODEL_DATA": (CommunicationScope.REST, CommunicationScope.FIRST),
    "HYBRID_TRANSFORMER": (CommunicationScope.MODEL, CommunicationScope.DATA),
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD": (CommunicationScope.MODEL, CommunicationScope.DATA),
    "HYBRID_CUSTOMIZED": (None, None),
}
_DLRM: Final = ("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED")
_FIELDS: Final = (
    "model_parallel_NPU_group",
    "checkpoints",
    "checkpoint_initiates",
    "ep",
    "pp",
    "vpp",
    "ga",
    "all_gpus",
    "pp_comm",
    "DLRM_LAST_BOTTOM_LAYER",
)
_SIMAI: Final = ("ep", "pp", "vpp", "ga", "all_gpus")
_MOST_NS: Final = 10**15


@dataclass(frozen=True, slots=True)
class _Header:
    """The first line: the parallelism, and the numbers behind each name; those without a name under ``''``."""

    kind: str
    numbers: Mapping[str, tuple[int, ...]]

    def one(self, name: str, default: int) -> int:
        """The one number of a name, at least 1.

        Raises:
            OfframpError: something else.
        """
        numbers = self.numbers.get(name, (default,))
        if len(numbers) != 1 or numbers[0] < 1:
            raise OfframpError(f"line 1: {name}: expected one number of at least 1")
        return numbers[0]

    @property
    def is_simai(self) -> bool:
        """Whether it has fields that only SimAI writes."""
        return any(name in self.numbers for name in _SIMAI)


def is_workload(text: str) -> bool:
    """Whether a text begins as a workload does: a parallelism, then a line with the number of layers."""
    lines = text.split("\n", 2)
    return len(lines) > 1 and lines[0].split(maxsplit=1)[:1] > [] and lines[0].split()[0] in _SCOPES


def read_workload(text: str, name: str, network: Network) -> TrainingWorkload:
    """Read the workload of such a text, for the NPUs of a network.

    Raises:
        OfframpError: names the line, and the layer.
    """
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 3:
        raise OfframpError(
            "expected a line with the parallelism, one with the number of layers, and one line per layer"
        )
    header = _header(lines[0][1])
    count = whole_number(lines[1][1][0])
    rows = lines[2:]
    if count is None:
        raise OfframpError(f"line {lines[1][0]}: {lines[1][1][0]:.20}: expected the number of layers")
    if len(rows) != count:
        raise OfframpError(f"expected {count} layers, there are {len(rows)}")
    layers = [_layer(number, row, header, index) for index, (number, row) in enumerate(rows)]
    layers = _named_apart(_recomputed(layers, header))
    if header.kind in _DLRM:
        layers = _interaction(layers, header)
    workload = TrainingWorkload(
        name,
        tuple(layers),
        header.one("model_parallel_NPU_group", 1),
        expert_parallel=header.one("ep", 1),
        pipeline=header.one("pp", 1),
        fuse_gradients=False,
        facts=tuple(_facts(header, network)),
    )
    return workload if header.is_simai else _gathered(workload, network)


def _header(words: list[str]) -> _Header:
    kind = words[0]
    if kind not in _SCOPES:
        raise OfframpError(f"line 1: parallelism '{kind:.40}': expected one of {', '.join(_SCOPES)}")
    numbers: dict[str, tuple[int, ...]] = {}
    name = ""
    for word in words[1:]:
        number = whole_number(word)
        if number is not None:
            numbers[name] = (*numbers.get(name, ()), number)
            continue
        name = word.removesuffix(":")
        if name not in _FIELDS:
            raise OfframpError(f"line 1: {word:.40}: expected a number, or one of {', '.join(_FIELDS)}")
        if name in numbers:
            raise OfframpError(f"line 1: {name} for a second time")
        numbers[name] = ()
    return _Header(kind, numbers)


def _scopes(kind: str, header: _Header, index: int) -> _Scopes:
    if kind in _DLRM and index == 0:
        return CommunicationScope.ALL, CommunicationScope.ALL
    if kind.startswith("HYBRID_TRANSFORMER") and "model_parallel_NPU_group" not in header.numbers:
        return (
            CommunicationScope.FIRST,
            CommunicationScope.REST,
        )  # before files could say a group, it was the first dimension
    return _SCOPES[kind]


def _layer(number: int, row: list[str], header: _Header, index: int) -> WorkloadLayer:
    where = f"line {number}: layer {row[0]:.40}"
    if len(row) < 11:
        raise OfframpError(f"{where}: expected 11 columns or more, there are {len(row)}")
    kind = header.kind
    if kind == "HYBRID_CUSTOMIZED":
        kind = row[-1]
        if kind not in _SCOPES or kind == "HYBRID_CUSTOMIZED":
            raise OfframpError(f"{where}: {kind:.40}: expected its parallelism, such as DATA, in the last column")
    times = [_nanoseconds(row[column], where) * 1000 for column in (2, 5, 8)]
    model, data = _scopes(kind, header, index)
    # A DLRM waits for its first layer where the others need it, not at once.
    forward = _exchanges(row[3:5], model, where, blocking=kind not in _DLRM)
    backward = _exchanges(row[6:8], model, where, blocking=False)
    weight = _exchanges(row[9:11], data, where, blocking=False)
    if kind == "MICRO":  # collectives alone
        times = [0, 0, 0]
    elif kind == "DISTRIBUTED_INFERENCE":  # and no backward pass
        times[1:] = [0, 0]
        backward = weight = ()
    return WorkloadLayer(
        row[0],
        forward_ps=times[0],
        input_ps=times[1],
        weight_ps=times[2],
        forward=forward,
        input=backward,
        weight=weight,
        await_input=kind not in _DLRM,
    )


def _nanoseconds(word: str, where: str) -> int:
    value = whole_number(word)
    if value is None or value > _MOST_NS:
        raise OfframpError(f"{where}: {word:.40}: expected nanoseconds")
    return value


def _exchanges(
    words: list[str], scope: CommunicationScope | None, where: str, *, blocking: bool
) -> tuple[LayerCollective, ...]:
    kind, size = words
    count = whole_number(size)
    if count is None:
        raise OfframpError(f"{where}: {size:.40}: expected bytes")
    if kind == "NONE":
        return ()
    group = next((suffix for suffix in _GROUPS if kind.endswith(suffix)), "")
    collective = _COLLECTIVES.get(kind.removesuffix(group))
    if collective is None:
        known = ", ".join(_COLLECTIVES)
        raise OfframpError(f"{where}: '{kind:.40}': expected NONE, or {known}, perhaps with {' or '.join(_GROUPS)}")
    among = _GROUPS.get(group, scope)
    return () if among is None else (LayerCollective(collective, count, among, blocking),)


def _named_apart(layers: Iterable[WorkloadLayer]) -> list[WorkloadLayer]:
    """Give layers unique names, as SimAI uses one name for each kind: the second is ``NAME#2``."""
    seen: dict[str, int] = {}
    unique = []
    for layer in layers:
        count = seen[layer.name] = seen.get(layer.name, 0) + 1
        unique.append(layer if count == 1 else replace(layer, name=f"{layer.name}#{count}"))
    return unique


def _recomputed(layers: list[WorkloadLayer], header: _Header) -> list[WorkloadLayer]:
    """Mark layers whose forward pass, from the last checkpoint on, runs again before an initiating layer's backward."""
    starts = _counted(header, "checkpoints", len(layers))
    again: set[int] = set()
    for end in _counted(header, "checkpoint_initiates", len(layers)):
        start = max((s for s in starts if s < end), default=None)
        if start is None:
            raise OfframpError(f"line 1: checkpoint_initiates: layer {end} has no checkpoint before it")
        again.update(range(start, end))
    return [replace(layer, recompute=index in again) for index, layer in enumerate(layers)]


def _counted(header: _Header, name: str, layers: int) -> tuple[int, ...]:
    """Read a count, then that many numbers of layers."""
    numbers = header.numbers.get(name, (0,))
    if not numbers or numbers[0] != len(numbers) - 1:
        raise OfframpError(f"line 1: {name}: expected a count, and that many layers")
    for number in numbers[1:]:
        if number >= layers:
            raise OfframpError(f"line 1: {name}: {number}: there are {layers} layers")
    return numbers[1:]


def _interaction(layers: list[WorkloadLayer], header: _Header) -> list[WorkloadLayer]:
    """Link a DLRM's top layers to the embeddings' exchange; its gradients go back where the bottom layers begin."""
    numbers = header.numbers.get("DLRM_LAST_BOTTOM_LAYER", header.numbers.get("", ()))
    if len(numbers) != 1:
        raise OfframpError(f"{header.kind}: expected a number after it")
    (last,) = numbers
    if not last + 1 < len(layers):
        raise OfframpError(f"{header.kind} {last}: expected the number of the last bottom layer")
    first, top = layers[0], layers[last + 1]
    layers[last + 1] = replace(top, awaits=first.name, input=top.input + first.input)
    layers[0] = replace(first, input=())
    return layers


def _gathered(workload: TrainingWorkload, network: Network) -> TrainingWorkload:
    """The workload with the sizes of all-gathers as the bytes that every NPU has after them."""
    sizes = workload.group_sizes(network)

    def scaled(exchanges: tuple[LayerCollective, ...]) -> tuple[LayerCollective, ...]:
        return tuple(
            replace(each, size=each.size * sizes[each.scope]) if each.collective is Collective.ALL_GATHER else each
            for each in exchanges
        )

    layers = tuple(
        replace(layer, forward=scaled(layer.forward), input=scaled(layer.input), weight=scaled(layer.weight))
        for layer in workload.layers
    )
    return replace(workload, layers=layers)


def _facts(header: _Header, network: Network) -> Iterable[str]:
    stages = header.one("pp", 1)
    if "all_gpus" in header.numbers and header.one("all_gpus", 1) != network.npus:
        yield f"written for {header.one('all_gpus', 1)} GPUs, simulated on {network.npus} NPUs"
    if stages > 1:
        slots = header.one("vpp", 1) * header.one("ga", 1)
        yield f"one stage of {stages}: without the pipeline's sends, and its bubble of {stages - 1}/{slots} of the time"
