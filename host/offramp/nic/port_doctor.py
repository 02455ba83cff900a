# SPDX-License-Identifier: Apache-2.0
"""Checks of a port or card by the agent, which opens it, asks its driver and closes it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from offramp.nic.build import AGENT, cache_folder
from offramp_base.checks import Check

_START_S: Final = 60.0
_FRAME: Final = 1468
"""Bytes after the Ethernet header of the longest frame, a datagram of Hermod's."""
_PCI: Final = re.compile(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=$|[,@])", re.ASCII | re.IGNORECASE)
_DEVICES: Final = Path("/sys/bus/pci/devices")


def port_checks(port: str, queues: int, program: Path | None = None) -> Iterator[Check]:
    """Checks of a port by the agent, which opens it with ``queues`` queues.

    Nothing is changed permanently; a port that another program uses, such as a running agent, cannot be checked.
    """
    card = _PCI.match(port)
    if card is not None:
        address = f"{card[1] or '0000'}:{card[2]}"
        yield from _card_checks(port, _DEVICES / address)
        if not (_DEVICES / address).exists():
            return
    if program is None:
        installed = shutil.which(AGENT)
        program = Path(installed) if installed else cache_folder() / AGENT
    if not program.is_file():
        yield Check(f"{port}: driver", False, "the agent is not built", "offramp nic build", needed=True)
        return
    command = [str(program), "--describe", "--compression", "none", "--queues", str(queues), "--port", port]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_START_S)
        said = [line for line in done.stdout.splitlines() if line.startswith("{")]
        described = json.loads(said[-1])["ports"][0] if said else None
        reason = next(
            (line for line in reversed(done.stderr.splitlines()) if line.startswith(AGENT)), "it says nothing"
        )
    except (subprocess.TimeoutExpired, ValueError, LookupError):
        described, reason = None, "the agent did not answer"
    if described is None:
        reason = reason.removeprefix(f"{AGENT}: ").removeprefix(f"port {port}: ")
        yield Check(f"{port}: driver", False, reason, "see docs/smartnic.md, ports", needed=True)
        return
    yield from _abilities(port, queues, described)


def _card_checks(port: str, device: Path) -> Iterator[Check]:
    """Checks of a PCI device before DPDK takes it: its presence, its driver, and whether an IOMMU confines it."""
    if not device.exists():
        yield Check(f"{port}: card", False, "no such PCI device", "lspci", needed=True)
        return
    numbers = " ".join((device / name).read_text("ascii").strip() for name in ("vendor", "device"))
    driver = (device / "driver").resolve().name if (device / "driver").exists() else "none"
    # mlx5 shares its card with the kernel; all others have to be given away.
    good = driver in {"mlx5_core", "vfio-pci", "igb_uio", "uio_pci_generic"}
    yield Check(f"{port}: card", good, f"{numbers}, driver {driver}", "dpdk-devbind.py --bind=vfio-pci", needed=True)
    yield Check(
        f"{port}: IOMMU",
        (device / "iommu_group").exists(),
        "its group" if (device / "iommu_group").exists() else "none",
        "the card can write anywhere; intel_iommu=on or amd_iommu=on",
    )


def _abilities(port: str, queues: int, described: dict[str, Any]) -> Iterator[Check]:
    def line(what: str, ok: bool, text: str, instead: str = "", needed: bool = False) -> Check:
        return Check(f"{port}: {what}", ok, text, instead, needed)

    yield line("driver", True, str(described["driver"]))
    pairs = min(described["receive_queues"], described["send_queues"])
    yield line("queues", pairs >= queues, f"{pairs} each way", f"--queues {pairs}", needed=True)
    mtu = described["mtu"]
    yield line("MTU", mtu == 0 or mtu >= _FRAME, f"{mtu} bytes", f"ip link set mtu {_FRAME}", needed=True)
    yield line(
        "not promiscuous",
        not described["promiscuous"],
        "yes" if not described["promiscuous"] else "the driver always is",
        "rules",
    )
    isolated = " and nothing else arrives" if described["isolated"] else ""
    rules = described["flow_rules"]
    yield line("rte_flow", rules, f"takes our rules{isolated}" if rules else "none", "rules in software")
    yield line("RSS", described["rss"], "by IP and UDP" if described["rss"] else "none", "the other end spreads frames")
    for name, what, instead in (
        ("rx_checksum", "checksums in", "in software"),
        ("tx_checksum", "checksums out", "IPv4's in software, Hermod's UDP without"),
        ("vlan_strip", "VLAN in", "in software"),
        ("vlan_insert", "VLAN out", "in software"),
    ):
        yield line(what, described[name], "by the device" if described[name] else "none", instead)
