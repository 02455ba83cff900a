# SPDX-License-Identifier: Apache-2.0
"""Files of other programs for the importers of clusters, written after their documentation, and what all must keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from offramp.cluster import Cluster, parse_cluster
from offramp.cluster.formats import Defaults, import_cluster
from offramp.cluster.routes import check_connected
from offramp.cluster.write import cluster_text

NODES = """\
NodeName=gpu1 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=0 CPUEfctv=128 CPUTot=128 CPULoad=0.50
   Gres=gpu:a100:4(S:0-1)
   NodeAddr=10.0.0.11 NodeHostName=gpu1 Version=22.05.8
   OS=Linux 5.15.0-91-generic #101-Ubuntu SMP Tue Nov 14 13:30:08 UTC 2023
   RealMemory=515000 AllocMem=0 FreeMem=504000 Sockets=2 Boards=1
   State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1

NodeName=gpu2 Arch=x86_64 CoresPerSocket=32
   CPUTot=128 Gres=gpu:2,nvme:1 NodeAddr=gpu2 RealMemory=515000

NodeName=cpu[1-2] CPUTot=64 Gres=(null) RealMemory=257000
"""
TREE = """\
# two racks
SwitchName=leaf1 Nodes=gpu[1-2]
SwitchName=leaf2 Nodes=cpu[1-2]
SwitchName=spine Switches=leaf[1-2] LinkSpeed=100
"""
TREE_YAML = """\
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: spine
        children: leaf[1-2]
      - switch: leaf1
        nodes: gpu[1-2]
      - switch: leaf2
        nodes: cpu[1-2]
- topology: blocks
  block:
    block_sizes: [2]
    blocks:
      - {block: b1, nodes: "gpu[1-2]"}
      - {block: b2, nodes: "cpu[1-2]"}
"""
CLAB = """\
name: fabric1
topology:
  kinds:
    linux: {image: "alpine:3"}
  nodes:
    spine1: {kind: nokia_srlinux}
    spine2: {kind: linux, image: "frrouting/frr:latest"}
    left: {kind: linux}
    right: {kind: linux}
    h1: {kind: linux}
    h2: {kind: linux}
    h3: {kind: linux}
    gnmic: {kind: linux}
  links:
    - endpoints: ["left:eth1", "spine1:e1-1"]
    - endpoints: ["left:eth2", "spine2:eth1"]
    - endpoints: ["right:eth1", "spine1:e1-2"]
      vars: {rate: 100gbit}
    - endpoints: ["right:eth2", "spine2:eth2"]
    - endpoints: ["h1:eth1", "left:eth3"]
    - type: veth
      endpoints:
        - {node: h2, interface: eth1}
        - {node: right, interface: eth3}
    - endpoints: ["h3:eth1", "left:eth4"]
    - endpoints: ["h3:eth2", "right:eth4"]
    - endpoints: ["spine1:mgmt1", "mgmt-net:spine1-mgmt"]
    - type: host
      endpoint: {node: h1, interface: eth9}
"""
P4APP = {
    "p4_src": "main.p4",
    "topology": {
        "links": [["h1", "s1", {"bw": 10, "delay": "5ms"}], ["s1", "s2", {"bw": 2.5, "port1": 7}], ["h2", "s2"]],
        "hosts": {"h1": {"ip": "10.0.1.1/24"}, "h2": {}},
        "switches": {"s1": {"cli_input": "s1.txt"}, "s2": {}},
    },
}
TOPO = """\
# eight hosts, 2:1 below
Nodes 8
Tiers 2
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 300
Oversubscribed 2

Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 500
Switch_Latency_ns 400
"""
SUBNET = """\
#
# Topology file: generated on Tue Jan  2 03:04:05 2024
#
# Initiated from node 506b4b0300000001 port 506b4b0300000001

vendid=0x2c9
devid=0xcb20
sysimgguid=0xec0d9a0300000001
switchguid=0xec0d9a0300000001(ec0d9a0300000001)
Switch\t36 "S-ec0d9a0300000001"\t\t# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 48 lmc 0
[1]\t"H-506b4b0300000001"[1](506b4b0300000001) \t\t# "node1 HCA-1" lid 67 4xEDR
[2]\t"H-506b4b0300000002"[1](506b4b0300000002) \t\t# "node1 mlx5_1" lid 89 4xHDR
[3][ext 7]\t"S-ec0d9a0300000002"[1]\t\t# "SwitchIB Mellanox Technologies" lid 9 4xNDR
[37]\t"H-506b4b03000000aa"[1](506b4b03000000aa) \t\t# "Mellanox Technologies Aggregation Node" lid 90 4xHDR

vendid=0x2c9
switchguid=0xec0d9a0300000002(ec0d9a0300000002)
Switch\t36 "S-ec0d9a0300000002"\t\t# "SwitchIB Mellanox Technologies" base port 0 lid 9 lmc 0
[1]\t"S-ec0d9a0300000001"[3]\t\t# "MF0;leaf1:MQM8700/U1" lid 48 4xNDR
[2]\t"H-506b4b0300000003"[1](506b4b0300000003) \t\t# "node2 HCA-1" lid 69 4xQDR

caguid=0x506b4b0300000003
sysimgguid=0x506b4b0300000030
Ca\t1 "H-506b4b0300000003"\t\t# "node2 HCA-1"
[1](506b4b0300000003) \t"S-ec0d9a0300000002"[2]\t\t# lid 69 lmc 0 "SwitchIB Mellanox Technologies" lid 9 4xQDR

caguid=0x506b4b0300000001
Ca\t1 "H-506b4b0300000001"\t\t# "node1 HCA-1"
[1](506b4b0300000001) \t"S-ec0d9a0300000001"[1]\t\t# lid 67 lmc 0 "MF0;leaf1:MQM8700/U1" lid 48 4xEDR

caguid=0x506b4b0300000002
Ca\t1 "H-506b4b0300000002"\t\t# "node1 mlx5_1"
[1](506b4b0300000002) \t"S-ec0d9a0300000001"[2]\t\t# lid 89 lmc 0 "MF0;leaf1:MQM8700/U1" lid 48 4xHDR

caguid=0x506b4b03000000aa
Ca\t1 "H-506b4b03000000aa"\t\t# "Mellanox Technologies Aggregation Node"
[1](506b4b03000000aa) \t"S-ec0d9a0300000001"[37]\t\t# lid 90 lmc 0 "MF0;leaf1:MQM8700/U1" lid 48 4xHDR
"""


def nccl(guids: tuple[str, ...] = ("0x506b4b0300000001", "0x506b4b0300000002"), gpus: int = 2) -> str:
    """NCCL's dump of a host of A100s with twelve NVLinks each and ports of 200 Gbit/s."""
    lines = ['<system version="1">', '  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD">']
    for k in range(gpus):
        lines += [
            f'    <pci busid="0000:{k + 1:02x}:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">',
            f'      <gpu dev="{k}" sm="80" rank="{k}" gdr="1">',
            '        <nvlink target="0000:f0:00.0" count="8" tclass="0x068000"/>',
            '        <nvlink target="0000:f1:00.0" count="4" tclass="0x068000"/>',
            "      </gpu>",
            "    </pci>",
        ]
    for k, guid in enumerate(guids):
        lines += [
            f'    <pci busid="0000:a{k}:00.0" class="0x020700">',
            f'      <nic><net name="mlx5_{k}" dev="{k}" speed="200000" port="1" guid="{guid}" gdr="1"/></nic>',
            "    </pci>",
        ]
    return "\n".join([*lines, "  </cpu>", "</system>", ""])


def lldp(*neighbours: tuple[str, str, str], enabled: bool = True, medium: str = "") -> str:
    """A table: the interface here, the neighbour's name, and its port."""
    rows = []
    for interface, name, port in neighbours:
        chassis = {
            "id": {"type": "mac", "value": "44:38:39:ff:00:01"},
            "mgmt-ip": ["fd00::1"],
            "capability": [{"type": "Bridge", "enabled": enabled}, {"type": "Station", "enabled": not enabled}],
        }
        there: dict[str, Any] = {"id": {"type": "ifname", "value": port}, "ttl": "120"}
        if medium:
            there["auto-negotiation"] = {"supported": True, "enabled": True, "current": medium}
        rows.append({interface: {"via": "LLDP", "rid": "1", "chassis": {name: chassis}, "port": there}})
    return json.dumps({"lldp": {"interface": rows[0] if len(rows) == 1 else rows}})


def node(name: str, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    """A node of Kubernetes with eight GPUs."""
    status = {
        "capacity": {"cpu": "64", "memory": "527944Ki", "nvidia.com/gpu": "8"},
        "allocatable": {"cpu": "63500m", "memory": "527000Ki", "nvidia.com/gpu": "8"},
    }
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status} | more


def nodes(*items: dict[str, Any]) -> str:
    """What ``kubectl get nodes -o json`` prints."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


_LEAF, _SPINE = "network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine"
SIMAI = "7 2 2 1 8 H100\n4 5 6\n" + "".join(
    f"{k} {4 + k // 2} 2880Gbps 0.000025ms 0\n{k} 6 400Gbps 0.0005ms 0\n" for k in range(4)
)
SAMPLES: dict[str, list[str]] = {
    "slurm": [NODES, TREE],
    "kubernetes": [nodes(*(node(f"n{k}", {_LEAF: f"l{k // 2}", _SPINE: "s"}) for k in range(4)))],
    "astra-sim": ["topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 12 ]\nlatency: [ 5.0, 1 ]\n"],
    "simai": [SIMAI],
    "containerlab": [CLAB],
    "p4-utils": [json.dumps(P4APP)],
    "htsim": [TOPO],
    "ibnetdiscover": [SUBNET],
    "nccl": [nccl(), nccl(("0x506b4b0300000030",)), SUBNET],
    "lldp": [
        lldp(("eth0", "leaf1", "swp1"), medium="100GbaseCR4 - 4-lane copper"),
        lldp(("eth0", "leaf1", "swp2"), ("eth1", "leaf1", "swp3")),
    ],
}
"""Files that say a whole network, by importer."""


def imported(folder: Path, kind: str, *texts: str, names: tuple[str, ...] = (), **options: Any) -> Cluster:
    """The cluster of files that are written first; it is checked as ``offramp cluster check`` does it."""
    paths = []
    for k, text in enumerate(texts):
        paths.append(folder / (names[k] if names else f"{kind}{k}"))
        paths[-1].write_text(text)
    cluster = import_cluster(kind, paths, Defaults(**({"rate_bps": 10**11, "delay_ns": 500.0} | options)))
    check(cluster)
    return cluster


def check(cluster: Cluster) -> None:
    """What every importer promises: the file reads back equal, and all hosts reach each other."""
    again = parse_cluster(cluster_text(cluster))
    parts = ("hosts", "switches", "links", "dimensions")
    assert [getattr(again, part) for part in parts] == [getattr(cluster, part) for part in parts]
    if cluster.hosts:
        check_connected(again)
    else:
        assert cluster.dimensions
