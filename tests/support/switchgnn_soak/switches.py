"""Switches on the native engine that serve one run after the other."""

from __future__ import annotations

from collections.abc import Callable

from offramp.switch.switchgnn.two_level import leaf_entries, spine_entries
from offramp_sim.p4 import PlainSwitch, ir, make_switch
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.channel import UnrulyChannel
from offramp_sim.switchgnn.leaf_spine import LeafSpineNetwork
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_soak.jobs import SoakJob, job_of_leaves_and_spines, job_of_one_switch
from switchgnn_soak.soak import Rates, Soak

SIZES = {
    "AGGREGATORS": "128",
    "VERTICES": "128",
    "FANOUT_ENTRIES": "4096",
    "SLOT_ENTRIES": "1024",
    "OWNER_ENTRIES": "1024",
    "HOSTS": "16",
}
"""Room for any of the jobs."""
RUNS_PER_JOB = 20
"""Seeds in a row that share their job, so that tables are not written anew for each run."""


class _Loaded:
    """A switch whose entries stay while the job does; its registers do not."""

    def __init__(self, switch: PlainSwitch) -> None:
        self.switch = switch
        self._holds: object = None

    def fresh(self, holds: object, load: Callable[[], None]) -> None:
        """As if just started, with what ``load`` writes for the job ``holds``."""
        if self._holds is holds:
            for register in self.switch.registers.values():
                register.reset()
            return
        self._holds = None
        self.switch.reset()
        load()
        self._holds = holds

    def check(self) -> None:
        occupancy = direct.occupancy(self.switch)
        assert occupancy is not None
        assert occupancy[0] == 0, f"{occupancy[0]} aggregators stayed open"


class OneSwitch:
    """Runs with a single switch."""

    def __init__(self, program: ir.Program, engine: str = "native") -> None:
        self._loaded = _Loaded(make_switch(program, engine))

    def run(self, seed: int, rates: Rates | None = None) -> Lockstep:
        """One run; raises as :meth:`Soak.run`, or AssertionError for an aggregator that stays open."""
        soak_job = job_of_one_switch(seed // RUNS_PER_JOB)
        loaded = self._loaded

        def make():
            job = soak_job.job
            loaded.fresh(soak_job, lambda: direct.load(loaded.switch, job.plans, job.ports, acks=soak_job.acks))
            return loaded.switch.process

        lockstep = Soak(seed, soak_job, rates=rates).run(make)
        loaded.check()
        return lockstep


class LeavesAndSpines:
    """Runs with up to four leaves and three spines; each link between them is unruly, too."""

    def __init__(self, program: ir.Program, engine: str = "native") -> None:
        self._make = lambda: _Loaded(make_switch(program, engine))
        self._switches: list[_Loaded] = []

    def run(self, seed: int, rates: Rates | None = None) -> Lockstep:
        """As :meth:`OneSwitch.run`."""
        soak_job = job_of_leaves_and_spines(seed // RUNS_PER_JOB)
        plans, network, acks = soak_job.job.plans, soak_job.network, soak_job.acks
        assert network is not None
        while len(self._switches) < network.leaves + network.spines:
            self._switches.append(self._make())
        leaves, spines = self._switches[: network.leaves], self._switches[network.leaves :][: network.spines]
        for number, leaf in enumerate(leaves):
            leaf.fresh(
                (soak_job, number),
                lambda n=number, s=leaf.switch: direct.load_place(s, leaf_entries(plans, network, n, acks=acks)),
            )
        for spine in spines:
            spine.fresh(soak_job, lambda s=spine.switch: direct.load_place(s, spine_entries(plans, network, acks=acks)))
        loss, duplication, delay = rates or (0.05, 0.1, 0.1)
        seeds = iter(range(1000 * seed, 1000 * seed + 1000))
        inside = LeafSpineNetwork(
            network,
            [leaf.switch.process for leaf in leaves],
            [spine.switch.process for spine in spines],
            link=lambda: UnrulyChannel(next(seeds), duplication, delay, loss),
            hops=2 + seed % 4,
        )
        lockstep = Soak(seed, soak_job, rates=rates, restarts=False).run(lambda: inside.process, busy=inside.busy)
        for loaded in (*leaves, *spines):
            loaded.check()
        return lockstep
