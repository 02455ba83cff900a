# SPDX-License-Identifier: Apache-2.0
"""The quantity that each rule minimises (section 3); ``tests/support/leo_selector.py`` has it in plain Python.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp.leo.selection.layout import (
    NONE,
    ONE,
    UNIT,
    SelectorState,
    row_of,
)
from offramp.leo.selection.policies import OUTSIDE, Policy
from offramp_base.native.random import next_state, random_bits
from offramp_base.native.records import offset
from offramp_base.native.subset import Words, call_word, inlined, native

_LOOKAHEAD = Policy.LOOKAHEAD.code
_OUTSTANDING = Policy.OUTSTANDING.code
_MIN = Policy.MIN.code
_RESET = Policy.RESET.code
_GREEDY_INTRA = Policy.GREEDY_INTRA.code
_GREEDY_E2E = Policy.GREEDY_E2E.code
_IPIPE = Policy.IPIPE.code
_UNIFORM = Policy.UNIFORM.code
_WEIGHTED = Policy.WEIGHTED.code
TRIAL = 512
PATIENCE = 8
CLEARLY = 2
_ENDLESS = 0x7FFFFFFFFFFFFFFF


@native
def draw(memory: SelectorState) -> int:
    """31 random bits."""
    memory.random = next_state(memory.random)
    return random_bits(memory.random, 31)


@native
def scaled(work: int, scale: int) -> int:
    """Work times the time per unit of work, without overflowing 64 bits."""
    return (work >> 16) * scale + (((work & (UNIT - 1)) * scale) >> 16)


@native
def wait(memory: SelectorState, pair: int) -> int:
    """The wait in ps that the model predicts on a path: that of its fullest queue.

    Requests leave a full queue one by one, so they find no queue further on (max-plus recursions of tandem queues).
    """
    first = memory.first
    resources = memory.resource
    slack = memory.slack
    backlog = memory.backlog
    scale = memory.scale
    total = 0
    for i in range(first[pair], first[pair + 1]):
        at = resources[i]
        total = max(total, backlog[at] - scaled(slack[i], scale[at]))
    return total


@native
def under_way(memory: SelectorState, pair: int) -> int:
    """Work in ps of all requests under way at the links and nodes of a path."""
    resources = memory.resource
    pending = memory.pending
    scale = memory.scale
    total = 0
    for i in range(memory.first[pair], memory.first[pair + 1]):
        at = resources[i]
        total += scaled(pending[at], scale[at])
    return total


@native
def lateness(memory: SelectorState, path: int) -> int:
    """Excess age in ps of the oldest request under way over what the model, its usual error and the network explain."""
    oldest = memory.oldest[path]
    longest = memory.away[path]
    usual = PATIENCE * memory.miss_model
    if oldest == NONE or longest == 0:
        return 0
    pair = row_of(memory, oldest).type * memory.paths + path
    expected = memory.base[pair] + memory.offset[path] + row_of(memory, oldest).wait
    return max(memory.seen - row_of(memory, oldest).time - expected - longest - usual, 0)


@inlined
def _lookahead(memory: SelectorState, pair: int, path: int) -> float:
    """T, the predicted wait, and the request's cost to later ones at the resource where that is highest.

    Unless the model predicts waits clearly better than the work under way does, that work is taken as the wait: it
    includes effects known only from answers, such as queues behind a jittering network or other tenants' requests.

    The cost is the step of a request's work in the relative value of an M/G/1 queue, lambda / (1 - rho) times
    D (V + D / 2): one step of policy iteration (Hyytia, Penttinen, Aalto 2012).
    """
    first = memory.first
    resources = memory.resource
    loads = memory.load
    slack = memory.slack
    backlog = memory.backlog
    share = memory.share
    work = memory.work
    scale = memory.scale
    gap = memory.gap
    own = memory.base[pair] + memory.offset[path] + lateness(memory, path)
    if CLEARLY * memory.miss_model > memory.miss_count:
        return float(own + under_way(memory, pair) + max(memory.surplus[path], 0))
    known = own + memory.excess[path]
    longest = 0.0
    dearest = 0.0
    for i in range(first[pair], first[pair + 1]):
        at = resources[i]
        queue = float(max(backlog[at] - scaled(slack[i], scale[at]), 0))
        load = float(scaled(loads[i], scale[at]))
        free = max(gap - work[at], gap >> 4)
        left = float(max(free, 1))
        longest = max(longest, queue)
        dearest = max(dearest, load * float(share[at]) * (queue + 0.5 * load) / (left * float(ONE)))
    return float(known) + (longest + dearest)


@native
def _whole(memory: SelectorState, policy: int, pair: int, path: int) -> int:
    """The score of the rules with integer scores."""
    base = memory.base
    toll = memory.toll
    if policy == _OUTSTANDING:
        first = memory.first
        resources = memory.resource
        pending = memory.pending
        total = base[pair]
        for i in range(first[pair], first[pair + 1]):
            total += pending[resources[i]]
        return total
    if policy in (_GREEDY_INTRA, _GREEDY_E2E):
        which = offset(SelectorState.intra) if policy == _GREEDY_INTRA else offset(SelectorState.e2e)
        last = Words(memory) + Words(memory)[which]
        return base[pair] if last[path] == NONE else last[path]
    khat = memory.khat[path]
    count = memory.count[path]
    if policy == _MIN:
        khat = min(khat, count)
    if policy == _RESET and count == 0:
        khat = 0
    return khat * toll[pair] + base[pair]


@native
def _cheapest(memory: SelectorState, kind: int, allowed: int) -> int:
    """The allowed path with the smallest T."""
    base = memory.base
    best = NONE
    for path in range(memory.paths):
        if (allowed >> path) & 1 and (
            best == NONE or base[kind * memory.paths + path] < base[kind * memory.paths + best]
        ):
            best = path
    return best


@native
def _migrated(memory: SelectorState, kind: int, allowed: int) -> int:
    """The last request's path if its end-to-end time was no longer than an idle path's; else the best other path."""
    last = memory.last
    stays = (allowed >> last) & 1 == 1 and memory.order > 1
    if stays and memory.late <= 0:
        return last
    other = _cheapest(memory, kind, allowed & ~(1 << last) if stays else allowed)
    return last if other == NONE else other


@native
def _drawn(memory: SelectorState, kind: int, allowed: int, weighted: bool) -> int:
    toll = memory.toll
    paths = memory.paths
    total = 0.0
    for path in range(paths):
        if (allowed >> path) & 1:
            total = total + (1.0 / float(max(toll[kind * paths + path], 1)) if weighted else 1.0)
    left = total * float(draw(memory)) / 2147483648.0
    chosen = NONE
    for path in range(paths):
        if (allowed >> path) & 1 and (chosen == NONE or left >= 0.0):
            chosen = path
            left = left - (1.0 / float(max(toll[kind * paths + path], 1)) if weighted else 1.0)
    return chosen


@native
def _ahead(memory: SelectorState, kind: int, allowed: int) -> int:
    """The path of least cost, or one untried for so long that trying it costs next to nothing."""
    paths = memory.paths
    used = memory.used
    chosen = NONE
    least = 0.0
    tried = NONE
    dearest = 0.0
    for path in range(paths):
        if (allowed >> path) & 1:
            cost = _lookahead(memory, kind * paths + path, path)
            if chosen == NONE or cost < least:
                least = cost
                chosen = path
            unused = float(memory.order - used[path])
            if unused > float(TRIAL) and (tried == NONE or unused > dearest):
                dearest = unused
                tried = path
    if tried != NONE and tried != chosen:
        cost = _lookahead(memory, kind * paths + tried, tried)
        if dearest * least > float(TRIAL) * cost:
            return tried
    return chosen


@native
def _outside(memory: SelectorState, kind: int, allowed: int) -> int:
    """The choice of another package's rule or, where it is not allowed, the path with the smallest T."""
    memory.asked_type = kind
    memory.asked_paths = allowed
    path = call_word(memory.rule, int(memory))
    if path < memory.paths and (allowed >> path) & 1 == 1:
        return path
    return _cheapest(memory, kind, allowed)


@native
def best_path(memory: SelectorState, kind: int, allowed: int) -> int:
    """The rule's choice among the paths ``allowed``, one bit each, not 0."""
    policy = memory.policy
    paths = memory.paths
    chosen = NONE
    if policy == _LOOKAHEAD:
        return _ahead(memory, kind, allowed)
    if policy in (_UNIFORM, _WEIGHTED):
        return _drawn(memory, kind, allowed, policy == _WEIGHTED)
    if policy == _IPIPE:
        return _migrated(memory, kind, allowed)
    if policy == OUTSIDE:
        return _outside(memory, kind, allowed)
    fewest = _ENDLESS
    for path in range(paths):
        if (allowed >> path) & 1:
            score = _whole(memory, policy, kind * paths + path, path)
            if score < fewest:
                fewest = score
                chosen = path
    return chosen
