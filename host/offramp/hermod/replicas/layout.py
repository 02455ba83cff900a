# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of the compiled builder. Addresses point into NumPy arrays that Python owns."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record
from offramp_base.native.subset import Bytes, Ints, Words

NOBODY: Final = -1

ATTENTION: Final = 0
EXPERTS: Final = 1
ATTENTION_BACKWARD: Final = 2
EXPERTS_BACKWARD: Final = 3
LAYER: Final = 4
LAYER_BACKWARD: Final = 5
CHUNK: Final = 6
CHUNK_BACKWARD: Final = 7
BARRIER: Final = 8
"""Kinds of computations, which determine their durations; the code of a computation is -1 less its kind."""

DISPATCH: Final = 0
COMBINE: Final = 1
COMBINE_GRADIENT: Final = 2
DISPATCH_GRADIENT: Final = 3
ACTIVATION: Final = 4
GRADIENT: Final = 5
REDUCE_SCATTER: Final = 6
ALL_GATHER: Final = 7
"""Roles of coflows; the code of one is (role x microbatches + microbatch) x layers + layer."""


class Builder(Record):
    """A job's shape, its tasks, and what waits for what."""

    ranks: int
    replicas: int
    chunks: int
    per_chunk: int  # layers
    micro_batches: int
    layers: int
    barrier: int
    group: int  # workers of an EP group; 0: there are none
    program_row: Ints  # steps of each rank
    backward: Ints
    micro_batch: Ints
    chunk: Ints
    ring_row: Ints  # rings of each worker, by their numbers in the job
    ring: Ints
    rings: int  # of the job

    variants: int  # all-to-alls of a group that are not alike; 1: all are
    pp_loads: int  # number of the first load of a stage boundary
    dp_loads: int  # and of a ring

    exchanges: Ints  # coflows by name, of this iteration: role, rank, group, microbatch, layer of the rank
    boundaries: Ints  # direction, virtual stage, microbatch, replica
    scatters: Ints  # layer, ring
    gathers: Ints
    gathers_before: Ints  # of the iteration before
    open_gathers: Ints
    open_count: int
    tail: Ints  # what the next task of each worker waits for
    tail_count: Ints
    most_tail: int

    iteration: int
    tasks: int
    steps: int
    code: Ints  # of each task
    load: Ints  # of each coflow
    of_iteration: Bytes
    submitted: Ints  # the step at which the last of those that feed it has reached it
    edges: int
    before: Ints
    after: Ints


class Sorting(Record):
    """An order of tasks in which nothing comes before what it waits for."""

    tasks: int
    edges: int
    submitted: Ints
    before: Ints  # edges as they were made
    after: Ints
    row: Ints  # edges by the task that is waited for
    followers: Ints
    left: Ints
    heap: Words
    heap_count: int
    place: Ints
    order: Ints
    sorted_row: Ints  # the same by the new numbers
    sorted_followers: Ints
