# SPDX-License-Identifier: Apache-2.0
"""libibverbs' structures, the kernel's tables of addresses, and what is said where something is missing.

Oracles: verbs.h and the C compiler; IANA's mapping of IPv4 addresses. Blind to devices: tests/guest has one.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from offramp.hermod.endhost.rdma import library as module
from offramp.hermod.endhost.rdma.gids import GidPlace, find_gid, gid_of
from offramp.hermod.endhost.rdma.library import LAYOUTS, library
from offramp.hermod.endhost.rdma.queue_pair import timeout_of
from offramp_base.errors import OfframpError

HEADER = Path("/usr/include/infiniband/verbs.h")
PARTIAL = {"ibv_context", "ibv_qp", "ibv_port_attr"}
"""Structures that the library allocates, or fills as far as an older version knew them."""
INSIDE = {"operations": "ops", "remote_addr": "wr.rdma.remote_addr", "rkey": "wr.rdma.rkey"}


@pytest.mark.skipif(not HEADER.exists() or shutil.which("cc") is None, reason="needs cc and libibverbs-dev")
def test_structures_are_those_of_verbs_h(tmp_path: Path) -> None:
    lines, expected = [], []
    for name, structure in LAYOUTS.items():
        for field, *_ in structure._fields_:
            if field in ("others", "rest"):
                continue
            inside = INSIDE.get(field, field) if name in ("ibv_context", "ibv_send_wr") else field
            lines.append(f"offsetof(struct {name}, {inside})")
            expected.append((name, field, getattr(structure, field).offset))
        if name not in PARTIAL:
            lines.append(f"sizeof(struct {name})")
            expected.append((name, "", ctypes.sizeof(structure)))
        elif name == "ibv_port_attr":
            lines.append(f"sizeof(struct {name}) <= {ctypes.sizeof(structure)}")
            expected.append((name, "", 1))
    for number, operation in ((11, "poll_cq"), (12, "req_notify_cq"), (25, "post_send"), (26, "post_recv")):
        lines.append(f"offsetof(struct ibv_context_ops, {operation})")
        expected.append(("ibv_context_ops", operation, 8 * number))
    source = tmp_path / "layouts.c"
    prints = "".join(f'printf("%zu\\n", (size_t)({line}));' for line in lines)
    source.write_text(
        f"#include <infiniband/verbs.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{ {prints} }}\n"
    )
    subprocess.run(["cc", "-o", tmp_path / "layouts", source], check=True)
    said = subprocess.run([tmp_path / "layouts"], check=True, capture_output=True, text=True).stdout.split()
    assert [(name, field, int(value)) for (name, field, _), value in zip(expected, said, strict=True)] == expected
    numbers = (module._POLL_CQ, module._REQ_NOTIFY_CQ, module._POST_SEND, module._POST_RECV)
    assert numbers == (11, 12, 25, 26)


def test_gids_are_addresses() -> None:
    assert gid_of("10.77.0.1").hex() == "00000000000000000000ffff0a4d0001"
    assert gid_of("fe80::1").hex() == "fe800000000000000000000000000001"


def table(folder: Path, device: str, entries: dict[int, tuple[str, str]], port: int = 1) -> None:
    ports = folder / device / "ports" / str(port)
    (ports / "gids").mkdir(parents=True)
    (ports / "gid_attrs/types").mkdir(parents=True)
    for index in range(12):
        gid, kind = entries.get(index, ("0000:0000:0000:0000:0000:0000:0000:0000", ""))
        (ports / "gids" / str(index)).write_text(f"{gid}\n")
        if kind:
            (ports / "gid_attrs/types" / str(index)).write_text(f"{kind}\n")


def test_a_device_is_known_by_its_address_on_roce_v2(tmp_path: Path) -> None:
    mapped = "0000:0000:0000:0000:0000:ffff:0a4d:0001"
    with pytest.raises(OfframpError, match=r"address 10\.77\.0\.1: this machine has no RDMA device"):
        find_gid("10.77.0.1", tmp_path / "none")
    table(tmp_path, "mlx5_0", {0: ("fe80:0000:0000:0000:0000:0000:0000:0002", "IB/RoCE v1")})
    with pytest.raises(OfframpError, match=r"no RoCE v2 device has the address 10\.77\.0\.1: the devices are mlx5_0"):
        find_gid("10.77.0.1", tmp_path)
    table(tmp_path, "mlx5_1", {2: (mapped, "IB/RoCE v1"), 10: (mapped, "RoCE v2")}, port=2)
    assert find_gid("10.77.0.1", tmp_path) == GidPlace("mlx5_1", 2, 10)


def test_timeouts_are_the_nearest_powers_of_two() -> None:
    for dead_s in (1.0, 20.0, 300.0):
        whole = 8 * 4.096e-6 * 2 ** timeout_of(dead_s)
        assert dead_s / 1.5 < whole < dead_s * 1.5
    assert timeout_of(1e-9) == 1  # 0 would be for ever
    assert timeout_of(1e9) == 31


def test_a_machine_without_the_library_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_NAME", "libibverbs-of-nobody.so.1")
    library.cache_clear()
    with pytest.raises(OfframpError, match=r"^RDMA needs the library libibverbs: apt install ibverbs-providers$"):
        library()
    library.cache_clear()
