# SPDX-License-Identifier: Apache-2.0
"""Programs on ports in memory beside DPDK's own: packets per second of processor time, all in one run.

The router's peer is rte_swx_pipeline, whose code DPDK generates from ``swx/fib.spec`` and a C compiler compiles against
DPDK's sources (``OFFRAMP_DPDK_SOURCE``: the folder of 22.11's); the reflector's is testpmd with ``macswap``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dpdk_switch import require
from fib_routes import NEXT_HOPS, frames, routes
from offramp_base.wire import pcap

HERE = Path(__file__).parent / "swx"
RATE = Path(__file__).parents[1] / "support" / "ported_rate.py"
ROUNDS, SECONDS = 3, 2
EAL = ["--no-telemetry", "--no-huge", "--no-shconf", "--no-pci", "-m", "256"]

pytestmark = pytest.mark.bench


def ours(program: str, cores: int, count: int, links: list[str], spread: str = "port") -> float:
    """Millions of packets per second of processor time, of all cores together."""
    command = [sys.executable, str(RATE), str(HERE / program), str(cores), spread, str(count), str(SECONDS), *links]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(lines) == cores
    return sum(packets / ns for packets, ns in lines) * 1e3


def macswap(burst: int) -> float:
    """Rate of testpmd on a null device: packets per second of processor time of the forwarding thread."""
    words = ["stdbuf", "-oL", "dpdk-testpmd", "-l", "0,1", *EAL, "--vdev=net_null0", "--", "--total-num-mbufs=8192"]
    words += ["--auto-start", "--forward-mode=macswap", f"--burst={burst}", "--no-lsc-interrupt"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        assert run.stdout is not None
        said = b""
        while b"enter to exit" not in said:
            said += (more := os.read(run.stdout.fileno(), 4096))
            assert more, said
        time.sleep(SECONDS)
        ns = max(
            int((task / "schedstat").read_text().split()[0])
            for task in Path(f"/proc/{run.pid}/task").iterdir()
            if "worker" in (task / "comm").read_text()
        )
        said, _ = run.communicate(b"\n", timeout=30)
    packets = re.findall(rb"RX-packets: (\d+)", said)[0]
    return int(packets) / ns * 1e3


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that runs pipelines, and ``fib.so`` beside it."""
    require("pcap", "null")
    source = os.environ.get("OFFRAMP_DPDK_SOURCE")
    if source is None or not Path(source, "lib/pipeline/rte_swx_pipeline_internal.h").is_file():
        pytest.skip("OFFRAMP_DPDK_SOURCE is not the folder of DPDK's sources, which its pipelines are compiled against")
    folder = tmp_path_factory.mktemp("swx")
    flags = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=True)
    libraries = subprocess.run(["pkg-config", "--libs", "libdpdk"], capture_output=True, text=True, check=True)
    compiler = ["gcc", "-O3", "-DALLOW_EXPERIMENTAL_API", *flags.stdout.split()]
    program = folder / "pipeline"
    subprocess.run([*compiler, HERE / "pipeline.c", "-o", program, *libraries.stdout.split()], check=True)
    subprocess.run([program, "codegen", HERE / "fib.spec", folder / "fib.c"], check=True)
    inside = [f"-I{source}/lib/{part}" for part in ("pipeline", "table", "port", "meter")]
    command = [*compiler, *inside, "-march=native", "-fpic", "-shared", folder / "fib.c", "-o", folder / "fib.so"]
    subprocess.run(command, check=True)
    return program


def swx(program: Path, count: int, device: str) -> float:
    folder = program.parent
    ways = [f"port {way} 0 ethdev net_pcap0 {queue} 0 bsz 64\n" for way, queue in (("in", "rxq"), ("out", "txq"))]
    (folder / "io").write_text("".join(ways))
    with (folder / "routes").open("w") as file:
        for (value, length), hop in routes(count).items():
            mask = (1 << 32) - (1 << 32 - length)
            file.write(f"match {value:#x}/{mask:#x} action route next_hop {hop}\n")
    with (folder / "hops").open("w") as file:
        for hop in range(NEXT_HOPS):
            file.write(f"match {hop} action forward dst_addr 0x2 src_addr 0x3 ether_type 0x0800 port 0\n")
    tables = [f"routes={folder}/routes", f"next_hops={folder}/hops"]
    words = [
        program,
        "run",
        folder / "fib.so",
        folder / "io",
        str(SECONDS),
        *tables,
        "--",
        "net_pcap0",
        "--",
        "peer",
        *EAL,
    ]
    done = subprocess.run([*words, f"--vdev={device}"], capture_output=True, text=True, check=True, timeout=120)
    packets, ns, sent = map(int, done.stdout.split()[-3:])
    assert sent > 0.9 * packets, "the peer routes"
    return packets / ns * 1e3


def best_of(measures: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The best rate of each, measured in turns."""
    samples: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(ROUNDS):
        for name, measure in measures.items():
            samples[name].append(measure())
    rates = {name: max(values) for name, values in samples.items()}
    lines = [f"| {name} | {rate:.1f} |" for name, rate in rates.items()]
    sys.stdout.write("\n".join(["", "| | M packets per second of processor time |", "|---|---|", *lines, ""]))
    return rates


@pytest.mark.parametrize("count", [10, 10_000])
def test_router_beside_swx(peer: Path, tmp_path: Path, count: int) -> None:
    file = tmp_path / "routed.pcap"
    pcap.write(file, [(0, frame) for frame in frames(count)])

    def links(cores: int) -> list[str]:
        return [f"dpdk:net_pcap{n},rx_pcap={file},infinite_rx=1" for n in range(cores)]

    rates = best_of(
        {
            f"router, {count} routes": lambda: ours("fib.p4", 1, count, links(1)),
            f"router, {count} routes, two cores": lambda: ours("fib.p4", 2, count, links(2)),
            f"rte_swx_pipeline, {count} routes": lambda: swx(peer, count, f"net_pcap0,rx_pcap={file},infinite_rx=1"),
        }
    )
    one, two, theirs = rates.values()
    assert one >= 2 * theirs
    assert two >= 1.7 * one


def test_reflector_beside_testpmd() -> None:
    require("null")
    if shutil.which("dpdk-testpmd") is None:
        pytest.skip("dpdk-testpmd is not installed (apt-get install dpdk-dev)")
    rates = best_of(
        {
            "reflector": lambda: ours("reflector.p4", 1, 0, ["dpdk:net_null0"]),
            "reflector, two cores": lambda: ours("reflector.p4", 2, 0, ["dpdk:net_null0", "dpdk:net_null1"]),
            "testpmd, macswap, bursts of 32": lambda: macswap(32),
            "testpmd, macswap, bursts of 64": lambda: macswap(64),
        }
    )
    one, two, *theirs = rates.values()
    assert one >= max(theirs) / 2
    assert two >= 1.7 * one
