# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's transport in the agent: in lockstep with a switch of its own, and through the P4 program on veth.

Blind to real NICs. The lockstep switch and the workers read the same plans.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import namespaces
from nic_agent import agent_arguments, cards, job_of, where_links_are, write_job
from offramp.nic.connection import AgentConnection
from offramp.nic.link import parse_nic_link
from offramp.nic.process import AgentProcess
from offramp.p4src import p4_text
from offramp.switchgnn import worker_plans
from offramp.switchgnn.control import SwitchGnnControl, sizes_for
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.nic_worker import NicWorker
from offramp.switchgnn.recovery import Recovery
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.transport.faulty import FaultRates
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.embedded import EmbeddedSwitch
from offramp_sim.switchgnn.jobs import GraphPlans, random_job

pytestmark = pytest.mark.nic
NOTICED_S = 1.0
SOON = Recovery(0.1, 0.5)
EMULATED_S = 300.0
"""Most that a program may take to compile where the processor is emulated (docs/how-to/guest.md)."""


@pytest.mark.parametrize("limit", [12, 60], ids=["blocks", "block"])
@pytest.mark.parametrize(
    ("faults", "restarts"), [(0.0, 0), (0.05, 0), (0.2, 0), (0.05, 200)], ids=["clean", "faults", "many", "killed"]
)
@pytest.mark.parametrize(("lanes", "width"), [(32, 40), (64, 40), (64, 100), (128, 300)])
def test_lockstep(
    programs: Path, tmp_path: Path, faults: float, restarts: int, limit: int, lanes: int, width: int
) -> None:
    """With one block all vertices are in no other: their sums go straight to their rows."""
    for seed in range(4):
        write_job(tmp_path / "job", *job_of(seed, 2 + seed, width, limit, lanes))
        command = [programs / "offramp-nic-exchange", tmp_path / "job", seed, faults, faults, restarts]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def run_workers(
    programs: Path,
    job: GraphPlans,
    x: np.ndarray,
    *,
    faults: FaultRates | None = None,
    recovery: Recovery = SOON,
    meanwhile: Callable[[AgentProcess], None] | None = None,
    exchanges: int = 3,
) -> list[NicWorker]:
    """Exchanges through the embedded switch, compared with the sums from the graph."""
    expected, wires = job.expected(x), cards("interface")

    def work() -> list[NicWorker]:
        far = [interface for _, interface in wires]
        with (
            EmbeddedSwitch(
                None, job.ports, transport="af_packet", interfaces=far, compile_seconds=EMULATED_S
            ) as switch,
            Session(switch.address, timeout_s=EMULATED_S) as session,
        ):
            session.push(b"", p4_text("switchgnn/v1model.p4", sizes_for(job.plans)).encode())
            SwitchGnnControl(session).load(job.plans, job.ports)
            ends = [port for port, _ in wires] or [spec.partition(":")[2] for spec in switch.port_specs]
            program = programs / "offramp-nic-agent"
            with AgentProcess(ends, program=program, arguments=agent_arguments()) as agent:
                workers = [
                    NicWorker(
                        i,
                        job.plans,
                        f"nic:{agent.path}#{i}",
                        timeout_s=30,
                        recovery=recovery,
                        faults=faults,
                        seed=i,
                    )
                    for i in range(len(job.ports))
                ]

                def run(worker: NicWorker) -> None:
                    worker.start()
                    rows = worker.boundary(0)
                    for _ in range(exchanges):
                        assert np.array_equal(worker.exchange(0, x[rows]), expected[rows])

                try:
                    with ThreadPoolExecutor(len(workers) + 1) as pool:
                        other = pool.submit(meanwhile, agent) if meanwhile else None
                        list(pool.map(run, workers))
                        if other:
                            other.result()
                finally:
                    for worker in workers:
                        worker.close()
                return workers

    namespaces.require()
    return where_links_are(work)


def test_shared_memory_between_two_agents(programs: Path, tmp_path: Path) -> None:
    """Over memif; the other end answers with what it got, and all edges are in one block."""
    link = f"socket={tmp_path}/memif.sock,socket-abstract=no"
    job = random_job(10, vertices=60, edges=240, workers=2, limit=60, features=(40,))
    program = programs / "offramp-nic-agent"
    server, client = (f"net_memif0,role={role},{link}" for role in ("server", "client"))
    far = AgentProcess([server], program=program, arguments=["--reflect"], compression="none")
    near = AgentProcess([client], program=program, compression="none")
    with far, near, closing(NicWorker(0, job.plans, f"nic:{near.path}#0", 30, recovery=Recovery(1, 2))) as worker:
        worker.start()
        values = np.random.default_rng(1).integers(-(2**20), 2**20, (len(worker.boundary(0)), 40)).astype(np.int32)
        for _ in range(3):
            assert np.array_equal(worker.exchange(0, values), values)


@pytest.mark.netns
def test_counts_are_those_of_the_plan(programs: Path) -> None:
    job, x = job_of(5)
    workers = run_workers(programs, job, x, recovery=Recovery(5.0, 20.0))  # nothing is asked for twice, however slow
    for worker in workers:
        own = sum(int((block.owner == worker.index).sum()) for block in job.plans[0].blocks)
        assert worker.stats.down.data_packets == 3 * own * 2
        assert worker.stats.down.payload_bytes == 3 * own * 40 * 4
        assert worker.stats.up.data_packets == 3 * own * 2
        assert worker.stats.results == 3 * own * 2
        assert worker.stats.rounds == 3 * len(job.plans[0].blocks)
        assert (worker.stats.rejected, worker.stats.foreign, worker.stats.fetches) == (0, 0, 0)


@pytest.mark.netns
def test_loss_and_duplicates(programs: Path) -> None:
    job, x = job_of(6, workers=3)
    workers = run_workers(programs, job, x, faults=FaultRates(loss=0.02, duplication=0.05), exchanges=2)
    assert sum(worker.stats.duplicates for worker in workers) > 0
    assert sum(worker.stats.fetches for worker in workers) > 0


@pytest.mark.netns
def test_an_agent_that_is_killed_and_comes_back(programs: Path) -> None:
    job, x = job_of(7, workers=3)

    def kill(agent: AgentProcess) -> None:
        for _ in range(2):
            time.sleep(0.2)
            agent.kill()
            agent.start()

    run_workers(programs, job, x, meanwhile=kill, exchanges=150)


@pytest.mark.netns
def test_agents_that_are_replaced_while_workers_exchange(programs: Path) -> None:
    job, x = job_of(10, workers=3)
    ended: list[int] = []
    connected: list[int] = []

    def upgrade(agent: AgentProcess) -> None:
        for _ in range(2):
            time.sleep(0.1)
            ended.append(agent.upgrade())
        with closing(AgentConnection(agent.path)) as watcher:
            connected.append(watcher.stats()["accepted"])

    workers = run_workers(programs, job, x, meanwhile=upgrade, exchanges=60)
    assert ended == [0, 0]
    assert all(worker.stats.rounds >= 60 and worker.stats.fetches >= 0 for worker in workers)  # no agent counted anew
    assert connected == [3 + 2 + 1]  # workers, each once, new agents and the watcher


@pytest.mark.netns
def test_a_worker_that_never_joins(programs: Path) -> None:
    namespaces.require()
    job, _ = job_of(8, workers=2)

    def work() -> None:
        with EmbeddedSwitch(None, job.ports, transport="af_packet") as switch, Session(switch.address) as session:
            session.push(b"", p4_text("switchgnn/v1model.p4", sizes_for(job.plans)).encode())
            SwitchGnnControl(session).load(job.plans, job.ports)
            interface = switch.port_specs[0].partition(":")[2]
            with AgentProcess([interface], program=programs / "offramp-nic-agent") as agent:
                link = f"nic:{agent.path}#0"
                worker = NicWorker(0, job.plans, link, 0.3, recovery=Recovery(0.05, 0.1))
                with pytest.raises(OfframpError, match="another worker has port"):
                    NicWorker(1, job.plans, link)
                with pytest.raises(OfframpError, match=r"worker 0: nothing new for 0\.3 s in round 0: no GO"):
                    worker.start()
                killed: list[float] = []

                def kill() -> None:
                    agent.kill()
                    killed.append(time.monotonic())

                killer = threading.Timer(0.1, kill)
                killer.start()
                with pytest.raises(OfframpError, match=r"worker 0: the agent is gone for \d"):
                    worker.start()
                ended = time.monotonic()
                killer.join()
                assert ended - killed[0] < NOTICED_S + 0.3 + 2 * 0.05  # its time-out, and two pauses between looks
                worker.close()

    in_namespace(work)


def test_links() -> None:
    assert parse_nic_link("nic:/run/a#b#12") == ("/run/a#b", 12)
    for bad in ("nic:/run/a", "nic:#1", "udp:x#1", "nic:/run/a#x"):
        with pytest.raises(OfframpError, match="expected nic:SOCKET#PORT"):
            parse_nic_link(bad)
    with pytest.raises(OfframpError, match="takes tensors, not frames"):
        open_io("nic:/run/a#0")


def test_plans_that_do_not_fit_are_refused(programs: Path) -> None:
    job, _ = job_of(9)
    with (
        AgentProcess(program=programs / "offramp-nic-agent") as agent,
        pytest.raises(OfframpError, match="transport: port 0 of 0"),
    ):
        NicWorker(0, job.plans, f"nic:{agent.path}#0")


def test_plans_that_lie_about_their_size_are_refused(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that believed them would lack the memory, and take its other clients with it."""
    job, _ = job_of(9)
    text = bytearray(worker_plans.write([PlanShare(plan, 0) for plan in job.plans]))
    text[12:16] = b"\xff\xff\xff\xff"  # rows of an exchange
    monkeypatch.setattr(worker_plans, "write", lambda _: bytes(text))
    with AgentProcess(["net_ring0"], program=programs / "offramp-nic-agent") as agent:
        with pytest.raises(OfframpError, match=r"plans: 4294967295 rows, of which blocks have \d+$"):
            NicWorker(0, job.plans, f"nic:{agent.path}#0")
        AgentConnection(agent.path).close()
