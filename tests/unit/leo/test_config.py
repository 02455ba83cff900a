# SPDX-License-Identifier: Apache-2.0
"""Configurations: what is refused, and with which line; logical links on physical ones; times and tolls by hand.

Blind to whether the shipped numbers are those of any machine.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from offramp.leo.config import load_config, resolve
from offramp.leo.config.files import APPLICATIONS, HARDWARE, builtin, parse_config
from offramp.leo.config.topology import HostGraph
from offramp_base.errors import OfframpError
from offramp_base.settings.source import read_source

GOOD = """\
hardware:
  model: off-path
  nodes:
    cpu: {kind: cpu, parallelism: 2, memory: 1GB}
    acc: {kind: fpga, memory: 1MB}
    nic: {kind: rnic}
  links:
    - {id: pcie, a: cpu, b: nic, bw_gbps: 80, latency_ns: 600}
    - {id: axi, a: nic, b: acc, bw_gbps: 100, mps: 50e6, latency_ns: 100}
paths:
  - {id: ca, type: CPU-Acc}
  - {id: cc, type: CPU-CPU}
application:
  name: kvs
  requests:
    GET:
      dependency: ADDR
      key: addr
      dataflows: [[ca, cc], [cc, cc]]
      size: {ca: {req: 8, resp: 8}, cc: {req: 8, resp: 64}}
      compute_us: [{cpu: 0.30, acc: 0.20}, {cpu: 0}]
      functions: {cpu: look, acc: look}
    PUT:
      dataflows: [[cc]]
      size: {cc: {req: 72, resp: 4}}
      compute_us: {cpu: 0.35}
"""


def test_times_and_tolls_by_hand() -> None:
    table = resolve(parse_config(GOOD)).routes.table
    assert table.types == ("GET", "PUT")
    assert table.paths == ("ca+cc", "cc+cc", "cc")
    pcie8, pcie64, pcie72, pcie4 = 0.8, 6.4, 7.2, 0.4  # ns at 80 Gb/s
    axi = 20.0  # 50 million messages per second: longer than 8 bytes take
    value = 2 * (600 + pcie8) + 2 * (600 + pcie64)
    index = (600 + pcie8) + 2 * (100 + axi) + 200 + (600 + pcie8)
    assert table.base[0, 0] == pytest.approx(index + value)
    assert table.toll[0, 0] == pytest.approx(2 * pcie8 + 2 * axi + 200 + 2 * pcie8 + 2 * pcie64)
    assert table.base[0, 1] == pytest.approx(2 * value + 300)
    assert table.base[1, 2] == pytest.approx(2 * (600 + pcie72) + 2 * (600 + pcie4) + 350)
    assert table.toll[1, 2] == pytest.approx(2 * pcie72 + 2 * pcie4 + 350 / 2)  # two cores
    assert np.isnan(table.base[1, 0])


@pytest.mark.parametrize(
    ("name", "crossed"),
    [
        ("direct", {"CN": "root port", "CA": "root peer", "AN": "peer port"}),
        ("on-path", {"CN": "pcie axi", "CA": "pcie", "AN": "axi"}),
        ("off-path", {"CN": "pcie", "CA": "pcie router", "AN": "router"}),
    ],
)
def test_logical_links_of_the_models(name: str, crossed: dict[str, str]) -> None:
    topology = HostGraph(load_config([name, "kvs"]))
    for logical, links in crossed.items():
        there, back = topology.route(logical, "acc"), topology.route(logical[::-1], "acc")
        assert there is not None
        assert back is not None
        assert " ".join(hop.link.id for hop in there) == links
        assert back == [hop.back for hop in reversed(there)]


def test_a_type_that_only_reads_is_known_to_the_selector() -> None:
    assert resolve(parse_config(GOOD)).routes.table.reads == (False, False)
    marked = GOOD.replace("      key: addr\n", "      key: addr\n      reads: true\n")
    assert resolve(parse_config(marked)).routes.table.reads == (True, False)


def test_on_the_on_path_model_both_paths_load_one_link() -> None:
    table = resolve(load_config(["on-path", "ebs"])).routes.table
    shared = [i for i, name in enumerate(table.resources) if "axi" in name]
    assert (table.load[0][:, shared] > 0).all()


SILLY = """\
  nodes: {cpu: {kind: cpu}, nic: {kind: rnic}}
  links: [{id: pcie, a: cpu, b: nic, bw_gbps: 80, latency_ns: 600}]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            GOOD[GOOD.index("  nodes:") : GOOD.index("paths:")],
            SILLY,
            "c.yaml:14: application.requests.GET.dataflows[0]: path ca crosses NA, which host (custom) lacks",
        ),
        (
            "paths:\n",
            "  map: {CN: [NC], NC: [CN]}\npaths:\n",
            "c.yaml:10: hardware.map.CN: a cycle: CN > NC > CN",
        ),
        (
            "paths:\n",
            "  map: {CA: [pcie, pcie, axi]}\npaths:\n",
            "c.yaml:10: hardware.map.CA: a cycle: pcie-pcie-axi reaches cpu twice",
        ),
        (
            "req: 8, resp: 8}",
            "req: 2MB, resp: 8}",
            "c.yaml:20: application.requests.GET.size.ca.req: 2000000 B, but acc has",
        ),
        (
            "  name: kvs\n",
            "  name: kvs\n  memory: {acc: 1.44GB}\n",
            "c.yaml:15: application.memory.acc: 1440000000 B, but acc has 1000000 B",
        ),
        (
            "functions: {cpu: look, acc: look}",
            "functions: {cpu: look}",
            "c.yaml:22: application.requests.GET.functions: expected a function for acc, where acc works on",
        ),
        ("    nic: {kind", "    acc: {kind", "c.yaml:6: two of one name: acc, first in line 5"),
        ("{id: axi,", "{id: pcie,", "c.yaml:9: hardware.links[1].id: two links of one name: pcie"),
        ("{id: cc, type", "{id: ca, type", "c.yaml:12: paths[1].id: two paths of one name: ca"),
        ("[cc, cc]]", "[cd, cc]]", "c.yaml:19: application.requests.GET.dataflows[1][0]: cd: no such path"),
        ("b: acc,", "b: gpu,", "c.yaml:9: hardware.links[1].b: gpu: no such node; expected one of cpu, acc, nic"),
        ("ADDR", "WHAT", "c.yaml:17: application.requests.GET.dependency: WHAT: expected one of NONE, ADDR, MSG"),
        ("      key: addr\n", "", "c.yaml:17: application.requests.GET.dependency: ADDR: expected a key with it"),
        (
            "type: CPU-Acc}",
            "type: CPU-Acc, responder: [NC]}",
            "c.yaml:11: paths[0].responder: NC: CPU-Acc expects an acc",
        ),
        (
            "type: CPU-Acc}",
            "type: CPU-Acc, requester: [XY]}",
            "c.yaml:11: paths[0].requester[0]: XY: expected a logical",
        ),
        ("acc: 0.20", "gpu: 0.20", "c.yaml:21: application.requests.GET.compute_us: expected the time on acc"),
        ("dataflows: [[cc]]", "dataflows: []", "c.yaml:24: application.requests.PUT.dataflows: expected at least one"),
        ("model: off-path", "model: on-path", "c.yaml:2: hardware.model: on-path: by its links, acc is off-path"),
        ("model: off-path", "model: sideways", "c.yaml:2: hardware.model: sideways: expected one of direct, on-path"),
        (
            "bw_gbps: 80",
            "bw_gbps: -80",
            "c.yaml:8: hardware.links[0].bw_gbps: -80: expected a number over 0, or profile",
        ),
        ("bw_gbps: 80", "bandwidth: 80", "c.yaml:8: hardware.links[0]: expected bw_gbps"),
        ("kind: rnic", "kind: rnic, colour: red", "c.yaml:6: hardware.nodes.nic.colour: no such field"),
        (
            "size: {ca: {req: 8, resp: 8}, cc",
            "size: {cc",
            "c.yaml:20: application.requests.GET.size: expected the size on",
        ),
        ("paths:\n", "  map: {CN: []}\npaths:\n", "c.yaml:10: hardware.map.CN: expected at least one link"),
        ("paths:\n", "  map: {CX: [pcie]}\npaths:\n", "c.yaml:10: hardware.map.CX: CX: expected one of CN, "),
        ("paths:\n", "  map: {CA.gpu: [pcie]}\npaths:\n", "c.yaml:10: hardware.map.CA.gpu: gpu: no such accelerator"),
        ("paths:\n", "  map: {AN: [pcie]}\npaths:\n", "c.yaml:10: hardware.map.AN: pcie joins cpu and nic, but"),
        (
            "    nic: {kind: rnic}\n",
            "    nic: {kind: rnic}\n    nic2: {kind: rnic}\n",
            "c.yaml:7: hardware.nodes.nic2: 2 nodes of kind rnic: expected one RDMA NIC",
        ),
        (
            "    nic: {kind: rnic}\n",
            "    nic: {kind: gpu}\n",
            "c.yaml:3: hardware.nodes: 0 nodes of kind rnic: expected one RDMA NIC",
        ),
        (
            "paths:\n",
            "  map: {CN: [axi]}\npaths:\n",
            "c.yaml:10: hardware.map.CN: axi joins nic and acc, but the path has",
        ),
        (
            "compute_us: {cpu: 0.35}",
            "compute_us: {cpu: fast}",
            "c.yaml:26: application.requests.PUT.compute_us.cpu: fast",
        ),
        ("application:\n", "application: [\n", "c.yaml:15: not YAML:"),
        ("paths:", "roads:", "c.yaml:10: roads: no such field"),
    ],
)
def test_bad_input_is_one_line_that_names_file_and_line(old: str, new: str, message: str) -> None:
    text = GOOD.replace(old, new, 1)
    if new is SILLY:
        text = text.replace("off-path", "custom")
        message = message.replace("c.yaml:14", f"c.yaml:{text[: text.index('dataflows')].count(chr(10)) + 1}")
    assert text != GOOD
    with pytest.raises(OfframpError) as raised:
        parse_config(text, "c.yaml")
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_what_has_yet_to_be_measured_is_named() -> None:
    config = parse_config(GOOD.replace("latency_ns: 600", "latency_ns: profile"), "c.yaml")
    with pytest.raises(OfframpError, match=r"c.yaml:8: hardware.links\[0\].latency_ns: has yet to be measured"):
        resolve(config)
    measured = "profile: {links: {pcie: {bw_gbps: 1, mps: 1, latency_ns: 600}}}\n"
    again = parse_config(GOOD.replace("latency_ns: 600", "latency_ns: profile") + measured, "c.yaml")
    assert (resolve(again).routes.table.toll[0] == resolve(parse_config(GOOD)).routes.table.toll[0])[:2].all()


def test_parts_come_from_several_files_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(GOOD[GOOD.index("paths:") :])
    assert load_config(["off-path", tmp_path / "app.yaml"]).application.name == "kvs"
    with pytest.raises(OfframpError, match=r"on-path.yaml:2: hardware: .*off-path.yaml gives it already"):
        load_config(["off-path", "on-path", "kvs"])
    with pytest.raises(OfframpError, match=r"kvs.yaml: expected hardware"):
        load_config(["kvs"])
    with pytest.raises(OfframpError, match=r"nothing: expected a .yaml file or one of kvs"):
        load_config(["nothing"])


TWO = """\
hardware:
  name: two
  model: custom
  nodes:
    cpu: {kind: cpu}
    fpga: {kind: fpga, speed: 2}
    gpu: {kind: gpu}
    nic: {kind: rnic}
  links:
    - {id: x, a: cpu, b: nic, bw_gbps: 100, latency_ns: 10}
    - {id: y, a: fpga, b: nic, bw_gbps: 100, latency_ns: 10}
    - {id: z, a: gpu, b: cpu, bw_gbps: 100, latency_ns: 10}
"""


def test_several_accelerators_are_several_paths(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(TWO)
    resolved = resolve(load_config([tmp_path / "two.yaml", "kvs"]))
    assert resolved.routes.paths == ("ca+cc@fpga", "ca+cc@gpu", "cc+cc")
    work = {w.device: w.time_ns for k in range(2) for w in resolved.work["GET", k] if w.trip == 0 and w.time_ns}
    assert work == {"fpga": 100, "gpu": 200}


def test_one_path_may_use_several_accelerators(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(TWO)
    chain = "paths: [{id: ca, type: CPU-Acc, accelerators: [fpga, gpu]}]\n" + GOOD[GOOD.index("application:") :]
    chain = (
        chain[: chain.index("    PUT:")]
        .replace("[[ca, cc], [cc, cc]]", "[[ca]]")
        .replace(", cc: {req: 8, resp: 64}", "")
    )
    (tmp_path / "app.yaml").write_text(chain.replace("[{cpu: 0.30, acc: 0.20}, {cpu: 0}]", "{acc: 0.2}"))
    resolved = resolve(load_config([tmp_path / "two.yaml", tmp_path / "app.yaml"]))
    assert [(w.device, w.time_ns) for w in resolved.work["GET", 0] if w.end == "responder"] == [
        ("fpga", 100),
        ("gpu", 200),
    ]


NEW_APPLICATION = """\
paths:
  - {id: remote, type: CPU-Acc}
  - {id: local, type: Acc-CPU}
  - {id: plain, type: CPU-CPU}
application:
  name: scan
  requests:
    SCAN:
      dependency: MSG
      key: message
      dataflows: [[remote], [local], [plain]]
      size: {remote: {req: 4KiB, resp: 64}, local: {req: 4KiB, resp: 64}, plain: {req: 4KiB, resp: 64}}
      compute_us: {cpu: 3, acc: 1}
"""
NEW_HARDWARE = TWO.replace("a: gpu, b: cpu", "a: gpu, b: fpga")


def test_one_file_of_an_application_and_one_of_a_model_give_m_plus_n(tmp_path: Path) -> None:
    """Every application on every host model, the shipped ones and one new of each kind, all without Python."""
    (tmp_path / "scan.yaml").write_text(NEW_APPLICATION)
    (tmp_path / "chain.yaml").write_text(NEW_HARDWARE)
    applications = [*APPLICATIONS, tmp_path / "scan.yaml"]
    models = [*HARDWARE, tmp_path / "chain.yaml"]
    for application, model in itertools.product(applications, models):
        resolved = resolve(load_config([model, application]))
        table = resolved.routes.table
        assert table.allowed.any(axis=1).all()
        assert (table.base[table.allowed] > table.toll[table.allowed] * 0.5).all()
        assert len(table.resources) == len(set(table.resources))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 5000, "c.yaml:1: not YAML: nested deeper than 50"),
        ("application: &a [*a]", "c.yaml:1: not YAML: an alias of what is around it"),
        ('application:\n  "\\ud800": 1', "c.yaml:2: not YAML: half of a surrogate pair"),
        ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 12)), "more than 200000"),
        (f"application: {'9' * 5000}", "c.yaml:1: not YAML: a number of more than 128 characters"),
    ],
)
def test_hostile_yaml_is_refused_in_one_line(text, message):
    with pytest.raises(OfframpError, match=re.escape(message)):
        parse_config(text, "c.yaml")


def test_an_integer_that_no_float_holds_is_refused():
    text = "".join(builtin(name).read_text("utf-8") for name in ("direct", "kvs"))
    with pytest.raises(OfframpError, match="a number of more than 128 characters"):
        parse_config(text.replace("latency_ns: 150", f"latency_ns: 1{'0' * 400}"), "c.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("".join(f"{' ' * i}a:\n" for i in range(500)), r"bad.yaml:\d+: not YAML: nested deeper than"),
        ("a: \0", "bad.yaml:1: not YAML: "),
        ("x" * (1 << 21), "bad.yaml: cannot be read: it has more than"),
    ],
    ids=["indented", "zero", "long"],
)
def test_files_that_would_take_all_memory_or_time(tmp_path, text, line):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(OfframpError, match=line):
        load_config([path])


def test_a_file_without_an_end():
    with pytest.raises(OfframpError, match="/dev/zero: cannot be read: expected a regular file"):
        read_source(Path("/dev/zero"))


def test_sizes_are_parsed_as_everywhere() -> None:
    for text, size in (("1e6", 10**6), ("1.5KiB", 1536), ("4096", 4096), ("2GB", 2 * 10**9)):
        config = parse_config(GOOD.replace("memory: 1MB", f"memory: {text}"))
        assert config.hardware.nodes["acc"].memory == size
    for text in ("-1", "true", "1XB", "nan", ".inf", "[]"):
        with pytest.raises(OfframpError, match="expected bytes, such as 4096 or 4MiB"):
            parse_config(GOOD.replace("memory: 1MB", f"memory: {text}"))
