# SPDX-License-Identifier: Apache-2.0
"""The selector in plain Python, request by request: what the compiled one is tested against."""

from __future__ import annotations

from collections.abc import Collection

from leo_selector_state import Key, Mark, Path, Rate, Request, Resource
from offramp.leo.selection import learning
from offramp.leo.selection.layout import HOLD, ONE, PS, SEVERAL, UNIT, WINDOW, Tolerance
from offramp.leo.selection.policies import Policy
from offramp.leo.selection.scores import CLEARLY, PATIENCE, TRIAL
from offramp.leo.selection.table import Table

_LONGEST_PS = 1 << 50


def shifted(value: int, by: int = learning.OFFSET_SHIFT) -> int:
    """The share by which one request moves a mean towards 0."""
    size = abs(value) >> by
    return size if value >= 0 else -size


class ModelSelector:
    """Like :class:`offramp.leo.selection.Selector`, with times in ps and without the rules that draw."""

    def __init__(self, table: Table, policy: Policy, tolerance: Tolerance | None = None) -> None:
        self.table, self.policy, self.tolerance = table, policy, tolerance or Tolerance()
        self.paths = [Path() for _ in table.paths]
        self.resources = [Resource() for _ in table.resources]
        self.requests: dict[int, Request] = {}
        self.keys: dict[tuple[int, int], Key] = {}
        self.parked: list[int] = []
        self.down: frozenset[int] = frozenset()
        self.seen = self.arrived = self.orders = self.gap = self.last = self.late = 0
        self.miss_model = self.miss_count = 0

    # --- what is known beforehand

    def base(self, kind: int, path: int) -> int:
        """T in ps."""
        return round(float(self.table.base[kind, path]) * PS)

    def loads(self, kind: int, path: int) -> dict[int, int]:
        """Work in ps at each resource of the path."""
        return {r: round(load * PS) for r, load in enumerate(self.table.load[kind, path].tolist()) if load}

    def open_paths(self, kind: int) -> list[int]:
        """Paths that the type may take and that are up."""
        return [p for p, ok in enumerate(self.table.allowed[kind]) if ok and p not in self.down]

    # --- rules

    def score(self, kind: int, path: int) -> float:
        """The value that the rule minimises."""
        base, known = self.base(kind, path), self.paths[path]
        toll = sum(self.loads(kind, path).values())
        match self.policy:
            case Policy.LOOKAHEAD:
                return self.lookahead(kind, path)
            case Policy.OUTSTANDING:
                return base + sum(self.resources[r].pending for r in self.loads(kind, path))
            case Policy.GREEDY_INTRA:
                return base if known.intra is None else known.intra
            case Policy.GREEDY_E2E:
                return base if known.e2e is None else known.e2e
            case Policy.MIN:
                return min(known.khat, known.outstanding) * toll + base
            case Policy.RESET:
                return (known.khat if known.outstanding else 0) * toll + base
        return known.khat * toll + base

    def queue(self, kind: int, path: int, resource: int) -> int:
        """The wait expected at one resource: backlog beyond what it serves at a time."""
        slack = self.loads(kind, path)[resource] * (self.table.capacity[resource] - 1)
        return max(self.resources[resource].backlog - self.resources[resource].scaled(slack), 0)

    def wait(self, kind: int, path: int) -> int:
        """The wait expected on a path: that of its fullest queue, behind which the others empty."""
        return max((self.queue(kind, path, r) for r in self.loads(kind, path)), default=0)

    def under_way(self, kind: int, path: int) -> int:
        """Work of all requests under way at the resources of a path."""
        return sum(self.resources[r].scaled(self.resources[r].pending) for r in self.loads(kind, path))

    def lateness(self, path: int) -> int:
        """The delay of the oldest request under way beyond what was expected."""
        known = self.paths[path]
        if not known.under_way or not known.away:
            return 0
        oldest = self.requests[known.under_way[0]]
        expected = self.base(oldest.kind, path) + known.offset + oldest.wait + known.away
        return max(self.seen - oldest.time - expected - PATIENCE * self.miss_model, 0)

    def lookahead(self, kind: int, path: int) -> float:
        """T, waits, and the work of those who come later."""
        own = self.base(kind, path) + self.paths[path].offset + self.lateness(path)
        if CLEARLY * self.miss_model > self.miss_count:
            return float(own + self.under_way(kind, path) + max(self.paths[path].surplus, 0))
        known = float(own + self.paths[path].excess)
        longest = dearest = 0.0
        for r, load in self.loads(kind, path).items():
            resource = self.resources[r]
            queue, work = float(self.queue(kind, path, r)), float(resource.scaled(load))
            left = float(max(self.gap - resource.work, self.gap // 16, 1))
            longest = max(longest, queue)
            dearest = max(dearest, work * resource.share * (queue + 0.5 * work) / (left * ONE))
        return known + (longest + dearest)

    def best(self, kind: int, among: list[int]) -> int:
        """The path of the smallest score, of equals the first."""
        if self.policy is Policy.LOOKAHEAD:
            costs = {path: self.lookahead(kind, path) for path in among}
            cheapest = min(among, key=lambda path: costs[path])
            unused = {path: self.orders - self.paths[path].used for path in among}
            tried = max(among, key=lambda path: unused[path])
            due = unused[tried] > TRIAL and unused[tried] * costs[cheapest] > TRIAL * costs[tried]
            return tried if due else cheapest
        if self.policy is not Policy.IPIPE:
            return min(among, key=lambda path: self.score(kind, path))
        stays = self.last in among and self.orders > 1
        if stays and self.late <= 0:
            return self.last
        others = [path for path in among if path != self.last] if stays else among
        return min(others, key=lambda path: self.base(kind, path), default=self.last)

    # --- requests

    def choose(self, row: int, kind: int, key: int | None, now: int) -> int:
        """A path, or HOLD."""
        self.drain(now)
        self.arrive(now)
        space = self.table.dependency[kind].code
        full = (space, key) if space and key is not None else None
        self.requests[row] = Request(kind, full, self.orders)
        among = self.open_paths(kind)
        if full is None:
            return self.start(row, self.best(kind, among)) if among else self.hold(row)
        entry = self.keys.setdefault(full, Key())
        path = None if entry.held else self.joins(entry, kind, among)
        return self.hold(row) if path is None else self.start(row, path)

    def reads(self, kind: int) -> bool:
        """Whether requests of a type only read."""
        return bool(self.table.reads and self.table.reads[kind])

    def joins(self, entry: Key, kind: int, among: list[int]) -> int | None:
        """The path of a request behind those of its key that are under way; None: it waits for them."""
        if entry.count and not (self.reads(kind) and not entry.writes):
            return entry.path if entry.path in among else None
        if not among:
            return None
        path = self.best(kind, among)
        entry.path = path if not entry.count or entry.path == path else SEVERAL
        return path

    def finished(self, row: int, jct: int, e2e: int, now: int) -> list[tuple[int, int]]:
        """Learn from the request; who was held and goes now."""
        self.drain(now)
        request = self.requests[row]
        path = request.path
        assert path is not None
        if jct >= 0:
            base, known = self.base(request.kind, path), self.paths[path]
            slack = max(round(base * self.tolerance.part), round(self.tolerance.resolution_ns * PS))
            known.khat = known.khat + 1 if jct > base + slack else 0
            self.learn(request, path, jct, e2e)
            known.intra, known.e2e, self.last = jct, e2e, path
            self.late = e2e - base - round(self.tolerance.network_ns * PS)
        self.stop(row, path)
        del self.requests[row]
        if request.key is None:
            return []
        entry = self.keys[request.key]
        started = [] if entry.count else self.start_held(entry)
        if not entry.count and not entry.held:
            del self.keys[request.key]
        return started

    def reroute(self, row: int, now: int) -> int:
        """Another path, or HOLD."""
        self.drain(now)
        request = self.requests[row]
        assert request.path is not None
        self.stop(row, request.path)
        request.path = None
        among = self.open_paths(request.kind)
        if request.key is not None:
            entry = self.keys[request.key]
            free = self.reads(request.kind) and not entry.writes
            if entry.count and not free and entry.path not in self.down:
                among = [p for p in among if p == entry.path]
            if entry.held and self.requests[entry.held[0]].order < request.order:
                among = []
        if not among:
            return self.hold(row)
        path = self.best(request.kind, among)
        if request.key is not None:
            entry.path = path if not entry.count or not free or entry.path == path else SEVERAL
        return self.start(row, path)

    def set_down(self, paths: Collection[int], now: int) -> list[tuple[int, int]]:
        """Close these paths; who was held and goes now."""
        self.down = frozenset(paths)
        self.drain(now)
        started = []
        for row in list(self.parked):
            among = self.open_paths(self.requests[row].kind)
            if among:
                self.parked.remove(row)
                started.append((row, self.start(row, self.best(self.requests[row].kind, among))))
        waiting = [entry for entry in self.keys.values() if entry.held and not entry.count]
        for entry in sorted(waiting, key=lambda e: self.requests[e.held[0]].order):
            started += self.start_held(entry)
        return started

    def start_held(self, entry: Key) -> list[tuple[int, int]]:
        """Those in front who may go together."""
        started = []
        while entry.held:
            row = entry.held[0]
            kind = self.requests[row].kind
            path = self.joins(entry, kind, self.open_paths(kind))
            if path is None:
                break
            entry.held.pop(0)
            started.append((row, self.start(row, path)))
        return started

    def hold(self, row: int) -> int:
        """Wait in the order of arrival."""
        request = self.requests[row]
        queue = self.parked if request.key is None else self.keys[request.key].held
        queue.append(row)
        queue.sort(key=lambda r: self.requests[r].order)
        return HOLD

    # --- the model of the queues

    def drain(self, now: int) -> None:
        """Every resource has worked."""
        passed = max(now - self.seen, 0)
        self.seen += passed
        for resource in self.resources:
            resource.backlog = max(resource.backlog - passed, 0)

    def arrive(self, now: int) -> None:
        """The mean gap follows the last."""
        gap = min(max(now - self.arrived, 0), _LONGEST_PS // WINDOW)
        if self.orders == 0:
            self.gap = _LONGEST_PS
        elif self.orders == 1:
            self.gap = gap * WINDOW
        else:
            self.gap += gap - self.gap // WINDOW
        self.arrived = now
        self.orders += 1

    def start(self, row: int, path: int) -> int:
        """Count a request as under way."""
        request = self.requests[row]
        loads = self.loads(request.kind, path)
        request.path, request.wait, request.time = path, self.wait(request.kind, path), self.seen
        request.counted = self.under_way(request.kind, path)
        request.sent = self.resources[self.main(request.kind, path)].sent
        self.paths[path].outstanding += 1
        self.paths[path].used = self.orders
        self.paths[path].under_way.append(row)
        for resource in self.resources:
            resource.share -= resource.share // WINDOW
            resource.work -= resource.work // WINDOW
        for r, load in loads.items():
            resource = self.resources[r]
            resource.pending += load
            resource.sent += load
            resource.backlog += resource.scaled(load)
            resource.share += ONE
            resource.work += resource.scaled(load)
        if request.key is not None:
            self.keys[request.key].count += 1
            self.keys[request.key].writes += not self.reads(request.kind)
        return path

    def main(self, kind: int, path: int) -> int:
        """The resource that the request keeps busy longest."""
        return int(self.table.load[kind, path].argmax())

    def stop(self, row: int, path: int) -> None:
        """A request is no longer under way."""
        request = self.requests[row]
        self.paths[path].under_way.remove(row)
        self.paths[path].outstanding -= 1
        for r, load in self.loads(request.kind, path).items():
            resource = self.resources[r]
            resource.pending -= load
            resource.backlog = min(resource.backlog, resource.scaled(resource.pending))
        if request.key is not None:
            self.keys[request.key].count -= 1
            self.keys[request.key].writes -= not self.reads(request.kind)

    # --- what times teach

    def learn(self, request: Request, path: int, jct: int, e2e: int) -> None:
        """Learn a path's own T, its network, and the time of a unit of work."""
        known = self.paths[path]
        known.away = max(e2e - jct, known.away - (known.away >> learning.AWAY_SHIFT))
        load = sum(self.loads(request.kind, path).values())
        known.lows[0].append(jct - self.base(request.kind, path))
        known.offset = min(known.offset, min(known.lows[0] + known.lows[1]) + load)
        if len(known.lows[0]) == learning.SPELL:
            known.lows = ([], known.lows[0])
        beyond = jct - self.base(request.kind, path) - known.offset
        resource = self.resources[self.main(request.kind, path)]
        self.learn_scale(resource, request, beyond, load)
        self.lower_scale(resource, request, beyond, load)
        for r, work in self.loads(request.kind, path).items():
            self.bound_scale(self.resources[r], work)
        self.compare(request, known, beyond)
        if request.wait == 0:
            known.offset += shifted(beyond)

    def compare(self, request: Request, known: Path, waited: int) -> None:
        """Compare the wait with what the model and the work under way have foretold."""
        by_model = waited - request.wait - known.excess
        by_count = waited - request.counted - known.surplus
        self.miss_model += shifted(abs(by_model) - self.miss_model, learning.MISS_SHIFT)
        self.miss_count += shifted(abs(by_count) - self.miss_count, learning.MISS_SHIFT)
        for other in self.paths:
            other.excess -= other.excess >> learning.EXCESS_SHIFT
            other.surplus -= max(other.surplus, 0) >> learning.SURPLUS_SHIFT
        known.excess = max(known.excess + shifted(by_model), 0)
        known.surplus += shifted(by_count)

    def lower_scale(self, resource: Resource, request: Request, waited: int, load: int) -> None:
        """Waits that fall short of those expected tell of a resource that is faster."""
        if resource.overtaking >= learning.OVERTAKING:
            return
        resource.expected += request.wait
        resource.waited += max(waited, 0)
        resource.samples += 1
        if resource.samples < learning.SHORT_SPELL:
            return
        if 2 * resource.waited < resource.expected and resource.expected > learning.SHORT_SPELL // 4 * load:
            resource.weigh(load)
            resource.spent -= resource.spent >> 2
            resource.set_scale()
        resource.expected = resource.waited = resource.samples = 0

    def bound_scale(self, resource: Resource, load: int) -> None:
        """No resource is slower than the work that it does."""
        if resource.rate is None:
            resource.rate = Rate(self.seen)
            return
        rate = resource.rate
        rate.work, rate.count = rate.work + load, rate.count + 1
        if rate.count <= learning.SPELL:
            return
        resource.rate = None
        passed, believed = self.seen - rate.since, resource.scaled(rate.work)
        if 0 < passed < believed - (believed >> 2):
            resource.weigh(load)
            resource.spent = int(resource.dealt * float(passed) / rate.work)
            resource.set_scale()

    def overtakes(self, resource: Resource, later: int, grown: int) -> bool:
        """Whether requests overtake each other before a resource, so that its scale cannot be learned."""
        before = resource.overtaking
        if later == 0:
            return before >= learning.OVERTAKING
        resource.overtaking -= before >> learning.OVERTAKING_SHIFT
        resource.overtaking += (grown * later < 0) << learning.OVERTAKING_SHIFT
        if resource.overtaking < learning.OVERTAKING:
            return False
        if before < learning.OVERTAKING and resource.dealt:
            resource.spent, resource.scale = resource.dealt, UNIT
        return True

    def learn_scale(self, resource: Resource, request: Request, waited: int, load: int) -> None:
        """Between two requests of one busy spell, waits grow by the work in between less the time."""
        mark = resource.mark
        if mark is not None:
            passed = request.time - mark.time
            grown = waited - mark.wait + passed
            mixed = self.overtakes(resource, request.sent - mark.sent, grown)
            if passed < 0:
                return
            if not mixed and 2 * passed <= mark.wait and request.sent > mark.sent:
                resource.weigh(load)
                resource.spent += max(grown, 0)
                resource.dealt += request.sent - mark.sent
                if resource.dealt > learning.MEMORY * load:
                    resource.spent, resource.dealt = resource.spent >> 1, resource.dealt >> 1
                resource.set_scale()
        resource.mark = Mark(request.time, request.sent, waited) if waited > 4 * load else None
