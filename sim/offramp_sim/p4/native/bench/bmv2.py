"""The same packets through bmv2's ``simple_switch``, without network interfaces: from and to files.

``simple_switch --use-files N`` waits N seconds, then takes the packets of one pcap file for each port as fast as
it can, in the order of their times, and writes what leaves to other files with the time at which it left. Its
rate is the number of packets that left over the time from the first to the last of them; its queues are made long
enough to drop none. Entries are written into the program's JSON beforehand, which makes them constant, because
the command line takes minutes for ten thousand; multicast groups, clone sessions and registers go over the
command line while the switch waits. Logging is off.
"""

from __future__ import annotations

import json
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp.errors import OfframpError
from offramp.wire.batch import PacketBatch
from offramp_sim.p4.native.bench.rates import Rate
from offramp_sim.p4.native.bench.workloads import AnySwitch, Workload
from offramp_sim.p4.state import ActionData, Exact, Lpm, Match, Range, Ternary

PROGRAMS: Final = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
_WAIT_S: Final = 8
_QUEUE_DEPTH: Final = 1_000_000  # so that nothing is dropped
_QUIET_S: Final = 1.5
_LONGEST_S: Final = 300.0
_MAGIC: Final = 0xA1B2C3D4


def missing() -> list[str]:
    """The programs that are not on PATH."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def measure(switch: AnySwitch, workload: Workload, seconds: float) -> Rate:
    """The rate of simple_switch on the workload's first batches.

    Args:
        workload: what to run.
        switch: has run the workload; says how many passes there are for each packet that leaves.
        seconds: at most about so long (packets are repeated until then where the workload allows it).

    Raises:
        OfframpError: bmv2 is not there, or cannot run the program.
    """
    if missing():
        raise OfframpError(f"{', '.join(missing())}: not on PATH")
    switch.reset()
    workload.prepare(switch)
    with tempfile.TemporaryDirectory(prefix="offramp-bmv2-") as name:
        folder = Path(name)
        config = _compiled(workload, folder)
        _add_entries(config, switch)
        (folder / "program.json").write_text(json.dumps(config))
        batch = PacketBatch.concatenate(workload.batches[: workload.unordered])
        before = switch.stats.packets_in, switch.stats.passes, switch.stats.packets_out
        switch_out = switch.process(batch)
        packets, passes, departed = (
            now - then
            for now, then in zip(
                (switch.stats.packets_in, switch.stats.passes, switch.stats.packets_out), before, strict=True
            )
        )
        switch.reset()
        workload.prepare(switch)
        copies = max(1, round(seconds * _GUESS_PPS / len(batch))) if workload.repeatable else 1
        ports = sorted(set(batch.ports.tolist()) | set(switch_out.ports.tolist()))
        _write_inputs(folder, batch, ports, copies)
        times = _run(folder, ports, list(_commands(switch)))
    if len(times) < 2:
        raise OfframpError(f"simple_switch: {len(times)} packets of {workload.name} left it")
    share = (len(times) - 1) / departed
    duration = float(times.max() - times.min())
    return Rate(workload.name, "bmv2", round(packets * share), round(passes * share), len(times) - 1, duration)


_GUESS_PPS: Final = 15_000


def _compiled(workload: Workload, folder: Path) -> dict[str, Any]:
    target = folder / "compiled.json"
    defines = [f"-D{name}={value}" for name, value in workload.defines.items()]
    command = ["p4c-bm2-ss", "--std", "p4-16", *defines, "-o", str(target), str(workload.source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OfframpError(f"p4c-bm2-ss: {done.stderr.strip().splitlines()[-1]}")
    config: dict[str, Any] = json.loads(target.read_text())
    return config


def _add_entries(config: dict[str, Any], switch: AnySwitch) -> None:
    names = {action["id"]: action["name"] for action in config["actions"]}
    for table in (t for pipeline in config["pipelines"] for t in pipeline["tables"]):
        state = switch.tables.get(table["name"])
        if state is None or not len(state) or state.table.const_entries:
            continue
        numbers = {names[number]: number for number in table["action_ids"]}
        highest = max(entry.priority for entry in state.entries)
        table["entries"] = []
        for entry in state.entries:
            assert isinstance(entry.action, ActionData), "an action profile"
            table["entries"].append(
                {
                    "match_key": [_key(*k) for k in zip(entry.keys, state.kinds, state.widths, strict=True)],
                    "action_entry": {
                        "action_id": numbers[entry.action.action],
                        "action_data": [hex(value) for value in entry.action.args],
                    },
                    "priority": highest + 1 - entry.priority,
                }
            )


def _key(match: Match, kind: str, width: int) -> dict[str, Any]:
    top = (1 << width) - 1

    def number(value: int) -> str:
        return f"0x{value:0{(width + 7) // 8 * 2}x}"

    if isinstance(match, Exact):
        return {"match_type": "exact", "key": number(match.value)}
    if kind == "lpm":
        value, length = (match.value, match.prefix_len) if isinstance(match, Lpm) else (0, 0)
        return {"match_type": "lpm", "key": number(value), "prefix_length": length}
    if kind == "ternary":
        value, mask = (match.value, match.mask) if isinstance(match, Ternary) else (0, 0)
        return {"match_type": "ternary", "key": number(value), "mask": number(mask)}
    if kind == "range":
        low, high = (match.low, match.high) if isinstance(match, Range) else (0, top)
        return {"match_type": "range", "start": number(low), "end": number(high)}
    raise OfframpError(f"bmv2's JSON has no entries with keys of kind {kind}")


def _commands(switch: AnySwitch) -> Iterator[str]:
    """What simple_switch_CLI must be told: replication and registers."""
    yield f"set_queue_depth {_QUEUE_DEPTH}"
    handle = 0
    for group, replicas in switch.pre.multicast.items():
        yield f"mc_mgrp_create {group}"
        for replica in replicas:
            yield f"mc_node_create {replica.instance} {replica.port}"
            yield f"mc_node_associate {group} {handle}"
            handle += 1
    for session, clone in switch.pre.clones.items():
        yield f"mirroring_add {session} {clone.replicas[0].port}"
    for name, register in switch.registers.items():
        for index, value in enumerate(register.values):
            if value:
                yield f"register_write {name} {index} {value & register.width.mask}"


def _write_inputs(folder: Path, batch: PacketBatch, ports: list[int], copies: int) -> None:
    parts: dict[int, list[bytes]] = {port: [struct.pack("<IHHiIII", _MAGIC, 2, 4, 0, 0, 65535, 1)] for port in ports}
    packets = list(batch)
    for i in range(copies * len(packets)):
        port, frame = packets[i % len(packets)]
        parts[port].append(struct.pack("<IIII", i // 1_000_000, i % 1_000_000, len(frame), len(frame)) + frame)
    for port, part in parts.items():
        (folder / f"p{port}_in.pcap").write_bytes(b"".join(part))


def _run(folder: Path, ports: list[int], commands: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Run simple_switch until nothing more leaves it; the times at which packets left."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        thrift = str(probe.getsockname()[1])
    interfaces = [part for port in ports for part in ("-i", f"{port}@p{port}")]
    command = ["simple_switch", "--use-files", str(_WAIT_S), "--thrift-port", thrift, *interfaces, "program.json"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        started = time.monotonic()
        _command(process, thrift, commands, started + _WAIT_S)
        outputs = [folder / f"p{port}_out.pcap" for port in ports]
        size, changed = 0, started + _LONGEST_S
        while time.monotonic() < min(changed + _QUIET_S, started + _LONGEST_S):
            time.sleep(0.1)
            now = sum(path.stat().st_size for path in outputs if path.exists())
            if now != size:
                size = now
                changed = time.monotonic() if now > 24 * len(outputs) else changed
            _check_running(process)
    except OfframpError as error:
        last = (folder / "log").read_text().strip().splitlines()[-1:]
        raise OfframpError(f"{error} ({' '.join(last)})") from None
    finally:
        process.terminate()
        process.wait()
    return np.sort(np.array([t for path in outputs if path.exists() for t in _times(path)]))


def _check_running(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        raise OfframpError(f"simple_switch: ended with status {process.returncode}")


def _command(process: subprocess.Popen[bytes], thrift: str, commands: list[str], deadline: float) -> None:
    """Have simple_switch_CLI do ``commands`` as soon as the switch listens, before it takes packets."""
    command = ["simple_switch_CLI", "--thrift-port", thrift]
    while True:
        done = subprocess.run(command, input="\n".join(commands), capture_output=True, text=True, check=False)
        _check_running(process)
        if time.monotonic() > deadline:
            raise OfframpError(f"simple_switch_CLI: {len(commands)} commands were not done in {_WAIT_S} s")
        if done.returncode == 0 and "Could not connect" not in done.stdout:
            return
        time.sleep(0.2)


def _times(path: Path) -> Iterator[float]:
    raw = path.read_bytes()
    at = 24
    while at + 16 <= len(raw):
        seconds, micros, size, _ = struct.unpack_from("<IIII", raw, at)
        if at + 16 + size > len(raw):
            return
        yield seconds + micros / 1e6
        at += 16 + size
