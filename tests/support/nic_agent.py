# SPDX-License-Identifier: Apache-2.0
"""The agent for tests: built once for each kind, with the vectors and jobs that its programs run."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pytest

from offramp.device import Status
from offramp.nic.build import Variant, build, cache_folder, missing
from offramp.nic.sysroot import make_sysroot
from offramp.nic.wire import NicFunction
from offramp.switchgnn import worker_plans
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.wire import LANES
from offramp_base.errors import OfframpError
from offramp_p4.bench.namespace import in_namespace
from offramp_sim.nic.links import ends
from offramp_sim.switchgnn.jobs import GraphPlans, random_job

T = TypeVar("T")


def built(arch: str = "native", sanitize: str = "", fuzz: bool = False, sysroot: Path | None = None) -> Path:
    """The folder of a build, made by whichever test process comes first."""
    lacking = missing(sysroot is not None)
    if lacking:
        pytest.skip(f"the agent needs {', '.join(lacking)}")
    try:
        variant = Variant(arch, sysroot, sanitize)
        name, options = variant.name, variant.options()
        if fuzz:
            if shutil.which("clang++-14") is None:
                pytest.skip("fuzzing needs clang-14")
            name, options = "fuzz", ["-DOFFRAMP_AGENT=OFF", "-DOFFRAMP_FUZZ=ON", "-DCMAKE_CXX_COMPILER=clang++-14"]
    except OfframpError as error:
        pytest.skip(str(error))
    folder = cache_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists() or not _sources(folder).is_dir():  # cpack takes files from them
            build(folder, options)
            (folder / "complete").touch()
    return folder


def _sources(folder: Path) -> Path:
    """The sources that a build was configured for, of whichever checkout."""
    lines = (folder / "CMakeCache.txt").read_text().splitlines()
    return Path(next(line for line in lines if line.startswith("CMAKE_HOME_DIRECTORY:")).partition("=")[2])


def emulated() -> Path:
    """A folder with programs that run those for aarch64 under qemu: the agent, and what tests it.

    Its sysroot is ``OFFRAMP_NIC_SYSROOT``, by default a folder of the cache, made when it is needed first.
    """
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if qemu is None:
        pytest.skip("programs for aarch64 need qemu-user-static")
    cache = cache_folder().parent
    cache.mkdir(parents=True, exist_ok=True)
    sysroot = Path(os.environ.get("OFFRAMP_NIC_SYSROOT") or cache / "sysroot-aarch64")
    with (cache / "sysroot-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            make_sysroot(sysroot)
        except OfframpError as error:
            pytest.skip(str(error))
    folder = built("aarch64", sysroot=sysroot)
    programs = folder / "emulated"
    programs.mkdir(exist_ok=True)
    for program in folder.glob("offramp-nic-*"):
        script = programs / program.name
        partial = script.with_suffix(f".{os.getpid()}")
        partial.write_text(f'#!/bin/sh\nexec {qemu} -L {sysroot} {program} "$@"\n', "ascii")
        partial.chmod(0o755)
        partial.replace(script)
    return programs


def cards(far: str) -> list[tuple[str, str]]:
    """Links that ``OFFRAMP_NIC_LINKS`` names in place of veth pairs: ``PORT=FAR PORT=FAR``, ports as the agent's.

    ``far`` says what a test needs at the other end: ``port`` of an agent, or ``interface`` of the kernel. Without the
    variable there are none; a test that the links do not suit is skipped.
    """
    named = [tuple(link.rsplit("=", 1)) for link in os.environ.get("OFFRAMP_NIC_LINKS", "").split()]
    if named and any((":" in other) != (far == "port") for _, other in named):
        pytest.skip(f"OFFRAMP_NIC_LINKS has no {far} at the other end")
    return [(near, other) for near, other in named]


def agent_arguments() -> list[str]:
    """``OFFRAMP_NIC_ARGUMENTS``: more options for the agents of tests on links, such as ``--huge``."""
    return os.environ.get("OFFRAMP_NIC_ARGUMENTS", "").split()


@contextmanager
def link(far: str) -> Iterator[tuple[str, str]]:
    """Both ends of a link: of a card, or of a veth pair in the calling thread's namespace."""
    named = cards(far)
    if named:
        yield named[0]
    else:
        with ends("veth") as veth_ends:
            yield veth_ends


def where_links_are(work: Callable[[], T]) -> T:
    """Run ``work`` in a namespace of its own, or, where links are cards, in that of the cards."""
    return work() if os.environ.get("OFFRAMP_NIC_LINKS") else in_namespace(work)


class Vector(NamedTuple):
    """A request, and what a device must make of it."""

    function: NicFunction
    status: Status
    message: bytes
    answer: bytes = b""
    table: bytes = b""
    after: bytes = b""
    parameters: tuple[int, int, int, int] = (0, 0, 0, 0)


def write_vectors(path: Path, vectors: Iterable[Vector]) -> None:
    """The file that ``offramp-nic-vectors`` reads."""
    with path.open("wb") as file:
        for v in vectors:
            parts = v.table, v.message, v.answer, v.after
            file.write(struct.pack("<2I4I4I", v.function, v.status, *v.parameters, *map(len, parts)))
            file.write(b"".join(parts))


def write_job(path: Path, job: GraphPlans, features: np.ndarray) -> None:
    """The file that ``offramp-nic-exchange`` reads: plans, values and sums of each worker."""
    sums = job.expected(features)
    workers = len(job.ports)
    with path.open("wb") as file:
        file.write(struct.pack("<II", workers, features.shape[1]))
        for worker in range(workers):
            shares = [PlanShare(plan, worker) for plan in job.plans]
            rows = shares[0].boundary
            for part in (worker_plans.write(shares), features[rows].tobytes(), sums[rows].astype("<i8").tobytes()):
                file.write(struct.pack("<I", len(part)) + part)


def job_of(
    seed: int, workers: int = 4, width: int = 40, limit: int = 12, lanes: int = LANES
) -> tuple[GraphPlans, np.ndarray]:
    """A small job of blocks of at most so many vertices, and features for it; where links are cards, on all of them."""
    links = len(os.environ.get("OFFRAMP_NIC_LINKS", "").split())
    workers = min(workers, links or workers)
    job = random_job(seed, vertices=60, edges=240, workers=workers, limit=limit, features=(width,), lanes=lanes)
    x = np.random.default_rng(seed).integers(-(2**24), 2**24, (60, width)).astype(np.int32)
    return job, x
