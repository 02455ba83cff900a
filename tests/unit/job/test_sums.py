# SPDX-License-Identifier: Apache-2.0
"""Two jobs at once on the same leaves and spine: neither's sums change, no page is both's, each one's are counted.

The control plane is that of ``offramp job``; ranks are threads of the test on the switches' sockets.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from dataclasses import replace

import numpy as np
import pytest

from offramp.allreduce.control import AllReduceControl
from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
from offramp.job.kinds.sums import deployment
from offramp.job.switches import with_switch
from offramp.job.transaction import Transaction

pytestmark = pytest.mark.full

ROUNDS = 6
ELEMENTS = 3000


def link_of(lab, host):
    """The socket of the leaf's port that a host is behind."""
    far = lab.links_of[host.name][0].far(host.name)
    switch = lab.by_name[far.node]
    return f"{switch.control.removesuffix('p4runtime')}port{far.port}"


def rank(lab, job, host, number, rank, barrier, wrong):
    network = AllReduceNetwork(link_of(lab, host), pages=job.pages, segments=job.segments)
    with closing(AllReducer(network, rank, 2, number, 60.0)) as reducer:
        barrier.wait()
        for turn in range(ROUNDS):
            values = [np.random.default_rng((number, turn, r)).integers(-(2**20), 2**20, ELEMENTS) for r in range(2)]
            given = values[rank].copy()
            reducer.all_reduce(given)
            if not (given == values[0] + values[1]).all():
                wrong.append((number, turn, rank))


def test_two_jobs_at_once_on_the_same_switches(lab, job):
    barrier, wrong = threading.Barrier(4), []
    with ExitStack() as stack:
        threads = []
        for number, hosts in ((11, "h1,h3"), (12, "h2,h4")):
            mine = replace(job, hosts=hosts, name=hosts)
            transaction = stack.enter_context(Transaction())
            chosen = mine.hosts_of(lab)
            for step in deployment(mine, lab, chosen, number):
                transaction.apply(step)
            for r, host in enumerate(chosen):
                words = (lab, mine, host, number, r, barrier, wrong)
                threads.append(threading.Thread(target=rank, args=words))
        pages: dict[int, int] = {}
        spine = next(each for each in lab.switches if each.name == "spine")
        with_switch(spine, lambda session: pages.update(AllReduceControl(session)._taken()))
        assert sorted(pages.values()) == [11, 12]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        shown = {switch.name: switches_traffic(switch) for switch in lab.switches}
    assert wrong == []
    for sums, traffic in shown.values():
        assert sums["completed"] > 0
        assert sums["stranger"] == 0
        assert traffic.keys() == {11, 12}
        assert traffic[11].sums == traffic[12].sums == sums["completed"] / 2
        for each in traffic.values():
            assert sum(each.outcomes.values()) == each.packets
            assert each.octets % each.packets == 0  # frames of one length
        for name in ("opened", "added", "completed"):
            assert sum(each.outcomes.get(name, 0) for each in traffic.values()) == sums[name]
    chosen = replace(job, hosts="h1,h3").hosts_of(lab)
    with Transaction() as transaction:  # the next job has the same pages, and nothing of the first one's counts
        for step in deployment(replace(job, hosts="h1,h3"), lab, chosen, 13):
            transaction.apply(step)
        assert {number: (each.packets, each.octets) for number, each in switches_traffic(spine)[1].items()} == {
            13: (0, 0)
        }


def switches_traffic(switch):
    """Counts of a switch by outcome, and by job."""
    shown = []

    def look(session) -> None:
        control = AllReduceControl(session)
        shown.append((control.outcomes(), control.traffic()))

    with_switch(switch, look)
    return shown[-1]
