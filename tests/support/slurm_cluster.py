# SPDX-License-Identifier: Apache-2.0
"""A real Slurm from Debian's packages: a controller and a node in each host's network namespace, gone with the test.

Nothing listens outside of these namespaces. munge has a key and a socket of its own; nodes share the machine's files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

import pytest

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scontrol", "scancel")
LIMIT_S = 60.0
CONF = """\
ClusterName=offramp
SlurmctldHost=control(10.91.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=6
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
PropagateResourceLimits=NONE
ReturnToService=2
SlurmdTimeout=6
KillWait=8
MinJobAge=600
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def require(*programs: str) -> None:
    """Skip a test where packages are missing: one clear line."""
    missing = [name for name in programs if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]
    if missing:
        pytest.skip(f"no {', no '.join(missing)}: ci/install-packages ci/cluster/packages.txt")


class SlurmCluster:
    """A controller in a namespace of its own, and nodes of the names of hosts in theirs; a context manager.

    Attributes:
        environment: variables with which Slurm's commands find it.
        inside: words before a command that runs where people log in.
    """

    def __init__(self, folder: Path, hosts: dict[str, int], cpus: int = 8) -> None:
        """``hosts`` are the processes of the namespaces, by name; ``cpus`` are those that each node claims."""
        self.folder, self.hosts, self.cpus = folder, hosts, cpus
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self.namespace = f"slurm-{os.getpid()}"
        self.inside = ["ip", "netns", "exec", self.namespace]
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self._network()
            self._files()
            self.start("munged", ["munged", "--foreground", "--force", *self._munge_options()], [])
            self._until((self.folder / "munge.sock").exists, "munged")
            self.start("control", ["slurmctld", "-D", "-i"], self.inside)
            for name in self.hosts:
                self.start_node(name)
            self._until(lambda: self.states() == {"idle": len(self.hosts)}, "nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(list(self._daemons)):
            self.end(name)
        for keeper in self.hosts.values():
            kill_beside(keeper)
        done = subprocess.run(["ip", "netns", "pids", self.namespace], check=False, capture_output=True, text=True)
        for pid in map(int, done.stdout.split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._stack.close()

    def _network(self) -> None:
        _ip("netns", "add", self.namespace)
        self._stack.callback(_ip, "netns", "del", self.namespace)
        _ip("-n", self.namespace, "link", "set", "lo", "up")
        _ip("-n", self.namespace, "link", "add", "control", "type", "bridge")
        _ip("-n", self.namespace, "addr", "add", "10.91.0.254/24", "dev", "control")
        _ip("-n", self.namespace, "link", "set", "control", "up")
        for number, (name, pid) in enumerate(self.hosts.items(), 1):
            _ip("-n", self.namespace, "link", "add", name, "type", "veth", "peer", "name", "manage", "netns", str(pid))
            _ip("-n", self.namespace, "link", "set", name, "master", "control", "up")
            enter = ["nsenter", f"--net=/proc/{pid}/ns/net", "ip"]
            subprocess.run([*enter, "addr", "add", f"10.91.0.{number}/24", "dev", "manage"], check=True)
            subprocess.run([*enter, "link", "set", "manage", "up"], check=True)

    def _files(self) -> None:
        nodes = "\n".join(
            f"NodeName={name} NodeAddr=10.91.0.{number} CPUs={self.cpus} State=UNKNOWN"
            for number, name in enumerate(self.hosts, 1)
        )
        for name in ("state", *(f"spool-{host}" for host in self.hosts)):
            (self.folder / name).mkdir(mode=0o700)
        (self.folder / "slurm.conf").write_text(CONF.format(folder=self.folder, nodes=nodes))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)

    def _munge_options(self) -> list[str]:
        at = {"socket": "munge.sock", "key-file": "munge.key", "pid-file": "munged.pid", "log-file": "munged.log"}
        at["seed-file"] = "munged.seed"
        return [f"--{option}={self.folder / name}" for option, name in at.items()]

    def start(self, name: str, words: list[str], inside: list[str]) -> None:
        """Start a daemon under a host's name of its own."""
        uts = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', name]
        environment = os.environ | self.environment | {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        with (self.folder / f"{name}.out").open("ab") as out:
            self._daemons[name] = subprocess.Popen(
                [*inside, *uts, *words],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment, process_group=0,
            )  # fmt: skip

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        enter = ["nsenter", f"--net=/proc/{self.hosts[name]}/ns/net", "--"]
        self.start(name, ["slurmd", "-D", "-N", name], enter)

    def end(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """End a daemon, by force if it has to be."""
        process = self._daemons.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def kill_node(self, name: str) -> None:
        """A node dies: its daemon, and whatever runs for jobs there, at once."""
        self.end(name, signal.SIGKILL)
        kill_beside(self.hosts[name])

    def run(self, *words: str) -> str:
        """What one of Slurm's commands prints."""
        done = subprocess.run(
            [*self.inside, *words], env=os.environ | self.environment, capture_output=True, text=True, check=False,
            timeout=LIMIT_S,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def states(self) -> dict[str, int]:
        """Number of nodes by state; empty if the controller does not answer yet."""
        try:
            rows = self.run("sinfo", "--noheader", "--Node", "--format=%T").split()
        except AssertionError:
            return {}
        return {state: rows.count(state) for state in rows}

    def log(self, name: str) -> str:
        """The end of a daemon's words."""
        text = "".join(p.read_text("utf-8", "replace") for p in sorted(self.folder.glob(f"*{name}*.log")))
        return text[-3000:]

    def _until(self, holds, what: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            assert time.monotonic() < deadline, f"{what}: {self.states()} {self.log('slurmctld')} {self.log('slurmd')}"
            time.sleep(0.1)


def kill_beside(keeper: int) -> None:
    """Kill everything in the network namespace of a process but the process itself."""
    for pid in in_network_of(keeper):
        if pid != keeper:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def in_network_of(keeper: int) -> list[int]:
    """All processes in the network namespace of one of them; none if that is our own, or if the process has ended."""
    try:
        space = Path(f"/proc/{keeper}/ns/net").readlink()
    except OSError:
        return []
    if space == Path("/proc/self/ns/net").readlink():
        return []
    pids = []
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            if path.readlink() == space:
                pids.append(int(path.parts[2]))
    return pids


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
