# SPDX-License-Identifier: Apache-2.0
"""The paper's four workloads (section 5.2), built from their architectures.

The paper gives mini-batches, parallelism and FP16 gradients, but no layer tables, sequence lengths or peak rates.
Each workload's facts state what is chosen here. Computation is a roofline of an accelerator of the A100's class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from offramp.themis.network import Collective
from offramp_base.errors import OfframpError
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload, WorkloadLayer

_FP16 = 2


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A roofline: FP16 operations and bytes of memory per second."""

    flops: float = 312e12
    memory_bps: float = 1555e9 * 8

    def time_ps(self, flops: float, moved: float) -> int:
        """Picoseconds that operations take which move this many bytes."""
        return round(max(flops / self.flops, moved * 8 / self.memory_bps) * 1e12)


A100 = Accelerator()
"""An A100: 312 TFLOPS dense FP16 and 1,555 GB/s."""


def _dense(name: str, npu: Accelerator, macs: float, weights: float, moved: float) -> WorkloadLayer:
    """A data-parallel layer, from multiply-adds and activation values of a mini-batch, and the number of weights."""
    time = npu.time_ps(2 * macs, _FP16 * (weights + moved))
    return WorkloadLayer(name, time, time, time, weight=_gradient(weights))


def _gradient(weights: float, scope: CommunicationScope = CommunicationScope.ALL) -> tuple[LayerCollective, ...]:
    return (LayerCollective(Collective.ALL_REDUCE, round(_FP16 * weights), scope),)


def resnet152(npu: Accelerator = A100, batch: int = 32) -> TrainingWorkload:
    """ResNet-152 at 224 x 224: 60.2 million parameters, all data-parallel."""
    layers = []

    def conv(name: str, kernel: int, inputs: int, outputs: int, side: int) -> None:
        weights = kernel * kernel * inputs * outputs + 2 * outputs  # with batch normalisation
        values = batch * side * side * (inputs + outputs)
        macs = batch * side * side * kernel * kernel * inputs * outputs
        layers.append(_dense(name, npu, macs, weights, values))

    conv("conv1", 7, 3, 64, 112)
    inputs, side = 64, 56
    for stage, (blocks, width) in enumerate(zip((3, 8, 36, 3), (64, 128, 256, 512), strict=True), 2):
        for block in range(blocks):
            name = f"conv{stage}_{block + 1}"
            if block == 0:
                conv(f"{name}_shortcut", 1, inputs, 4 * width, side)
            conv(f"{name}a", 1, inputs, width, side)
            conv(f"{name}b", 3, width, width, side)
            conv(f"{name}c", 1, width, 4 * width, side)
            inputs = 4 * width
        side //= 2
    weights = 2048 * 1000 + 1000
    layers.append(_dense("fc", npu, batch * weights, weights, batch * 3048))
    return TrainingWorkload("resnet-152", tuple(layers), facts=(f"mini-batch {batch}, 224 x 224",))


def gnmt(npu: Accelerator = A100, batch: int = 128, words: int = 50) -> TrainingWorkload:
    """GNMT, 8 encoder and 8 decoder layers of 1,024: all data-parallel."""
    width, vocabulary = 1024, 32000
    tokens = batch * words
    layers = []

    def lstm(name: str, inputs: int) -> None:
        weights = 4 * width * (inputs + width + 1)
        layers.append(_dense(name, npu, tokens * weights, weights, tokens * (inputs + 5 * width)))

    def table(name: str) -> None:
        weights = vocabulary * width
        time = npu.time_ps(0, 2 * _FP16 * tokens * width)
        layers.append(WorkloadLayer(name, time, time, time, weight=_gradient(weights)))

    table("encoder_embedding")
    lstm("encoder_1_forward", width)
    lstm("encoder_1_backward", width)
    lstm("encoder_2", 2 * width)
    for i in range(3, 9):
        lstm(f"encoder_{i}", width)
    table("decoder_embedding")
    lstm("decoder_1", width)
    attention = 2 * width * width + width
    layers.append(_dense("attention", npu, tokens * (attention + words * width), attention, 3 * tokens * width))
    for i in range(2, 9):
        lstm(f"decoder_{i}", 2 * width)
    output = vocabulary * (width + 1)
    layers.append(_dense("softmax", npu, tokens * output, output, tokens * (width + vocabulary)))
    facts = (f"mini-batch {batch}", f"{words} words a sentence and a vocabulary of {vocabulary:,} are our choice")
    return TrainingWorkload("gnmt", tuple(layers), facts=facts)


def dlrm(npu: Accelerator = A100, batch: int = 512) -> TrainingWorkload:
    """DLRM: data-parallel MLPs, distributed embedding tables; all-to-alls overlap with the bottom MLP."""
    tables, width = 64, 128
    bottom = (13, 4096, 4096, 2048, width)
    pairs = (tables + 1) * tables // 2
    top = (pairs + width, 4096, 4096, 4096, 1)
    pooled = batch * tables * width * _FP16
    embedding = WorkloadLayer(
        "embedding",
        npu.time_ps(0, 2 * pooled),
        0,
        npu.time_ps(0, 2 * pooled),
        forward=(LayerCollective(Collective.ALL_TO_ALL, pooled),),
    )
    layers = [embedding]

    def mlp(part: str, widths: tuple[int, ...]) -> None:
        for i, (a, b) in enumerate(pairwise(widths), 1):
            weights = a * b + b
            layers.append(_dense(f"{part}_{i}", npu, batch * weights, weights, batch * (a + b)))

    mlp("bottom", bottom)
    mlp("top", top)
    first = len(bottom)  # of the top MLP, behind the embedding and the bottom MLP
    layers[first] = replace(layers[first], awaits="embedding", input=(LayerCollective(Collective.ALL_TO_ALL, pooled),))
    facts = (
        f"mini-batch {batch} a NPU",
        f"{tables} tables of width {width} are our choice",
        f"MLPs {'-'.join(map(str, bottom))} and {'-'.join(map(str, top))} are our choice",
    )
    return TrainingWorkload("dlrm", tuple(layers), facts=facts)


def transformer_1t(
    npu: Accelerator = A100, batch: int = 16, model_parallel: int = 128, words: int = 1024
) -> TrainingWorkload:
    """A transformer of 10^12 parameters under ZeRO stage 2: model-parallel first dimensions, data-parallel others."""
    blocks, width, vocabulary = 128, 25600, 51200
    tokens = batch * words
    activation = tokens * width * _FP16
    reduce = (LayerCollective(Collective.ALL_REDUCE, activation, CommunicationScope.MODEL, blocking=True),)
    layers = []

    def part(name: str, weights: int, extra: int) -> None:
        mine = weights / model_parallel
        macs = tokens * (mine + extra / model_parallel)
        time = npu.time_ps(2 * macs, _FP16 * (mine + 3 * tokens * width))
        gradient = (LayerCollective(Collective.ALL_REDUCE, round(_FP16 * mine), CommunicationScope.DATA),)
        layers.append(
            WorkloadLayer(name, time, time, time, forward=reduce, input=reduce, weight=gradient, recompute=True)
        )

    part("embedding", vocabulary * width, 0)
    for i in range(1, blocks + 1):
        part(f"attention_{i}", 4 * width * width, 2 * words * width)
        part(f"mlp_{i}", 8 * width * width, 0)
    facts = (
        f"mini-batch {batch}, model-parallel over {model_parallel} NPUs",
        f"{blocks} blocks of width {width}, {words} words, one reduction of all gradients: our choice",
    )
    return TrainingWorkload("transformer-1t", tuple(layers), model_parallel, facts=facts)


MODELS: dict[str, Callable[[], TrainingWorkload]] = {
    "resnet-152": resnet152,
    "gnmt": gnmt,
    "dlrm": dlrm,
    "transformer-1t": transformer_1t,
}


def model_for(name: str, sizes: Iterable[int]) -> TrainingWorkload:
    """One of the paper's workloads for a network with dimensions of these sizes.

    Transformer-1T is model-parallel across the first dimensions up to 128 NPUs (section 5.2).

    Raises:
        OfframpError: there is no such workload.
    """
    if name not in MODELS:
        raise OfframpError(f"workload '{name}': expected a file or one of {', '.join(MODELS)}")
    if name != "transformer-1t":
        return MODELS[name]()
    group = 1
    for size in sizes:
        if group * size > 128:
            break
        group *= size
    return transformer_1t(model_parallel=group)
