# SPDX-License-Identifier: Apache-2.0
"""The tables of the chip itself, which every program finds beside its own.

One line for each field: ``id name type``, then ``*`` for a list, ``+`` where an entry must give it, ``!`` where it
can only be read, ``=`` before its default. A line that begins with a table's name, type, id and size opens it, its
key follows behind ``key``; ``action`` lines give the table an action, with the parameters that follow.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Final

from offramp_p4_tools.bfrt.describe import Description
from offramp_p4_tools.bfrt.fields import ActionSpec, BfrtField, TableSpec

MIRROR: Final = "$mirror.cfg"
PORT: Final = "$PORT"
PORT_STAT: Final = "$PORT_STAT"
PKTGEN_APP: Final = "tf1.pktgen.app_cfg"
PKTGEN_BUFFER: Final = "tf1.pktgen.pkt_buffer"
PKTGEN_PORT: Final = "tf1.pktgen.port_cfg"
DEVICE: Final = "tf1.dev.device_configuration"

_TABLES: Final = """
table $mirror.cfg MirrorCfg 0xff040001 1024
key 1 $sid uint16
5 $session_enable bool
6 $direction string
7 $ucast_egress_port uint32
8 $ucast_egress_port_valid bool
9 $egress_port_queue uint32
10 $ingress_cos uint32
11 $packet_color string
12 $level1_mcast_hash uint32
13 $level2_mcast_hash uint32
14 $mcast_grp_a uint16
15 $mcast_grp_a_valid bool
16 $mcast_grp_b uint16
17 $mcast_grp_b_valid bool
18 $mcast_l1_xid uint16
19 $mcast_l2_xid uint16
20 $mcast_rid uint16
21 $icos_for_copy_to_cpu uint32
22 $copy_to_cpu bool
23 $max_pkt_len uint16
action 1 $coalescing
1 $internal_header bytes
2 $internal_header_length uint32
3 $timeout_usec uint32
4 $extract_len uint32
action 2 $normal
table $pre.mgid PreMgid 0xff020001 65536
key 1 $MGID uint16
1 $MULTICAST_NODE_ID uint32 *
2 $MULTICAST_NODE_L1_XID_VALID bool *
3 $MULTICAST_NODE_L1_XID uint16 *
4 $MULTICAST_ECMP_ID uint32 *
5 $MULTICAST_ECMP_L1_XID_VALID bool *
6 $MULTICAST_ECMP_L1_XID uint16 *
attributes pre_device_config
table $pre.node PreNode 0xff020002 16777216
key 1 $MULTICAST_NODE_ID uint32
1 $MULTICAST_RID uint16 +
2 $MULTICAST_LAG_ID uint8 * +
3 $DEV_PORT uint32 * +
table $pre.ecmp PreEcmp 0xff020003 16777216
key 1 $MULTICAST_ECMP_ID uint32
1 $MULTICAST_NODE_ID uint32 * +
table $pre.lag PreLag 0xff020004 255
key 1 $MULTICAST_LAG_ID uint8
1 $DEV_PORT uint32 *
2 $MULTICAST_LAG_REMOTE_MSB_COUNT uint32 =0
3 $MULTICAST_LAG_REMOTE_LSB_COUNT uint32 =0
table $pre.prune PrePrune 0xff020005 288
key 1 $MULTICAST_L2_XID uint16
1 $DEV_PORT uint32 * +
table $pre.port PrePort 0xff020006 288
key 1 $DEV_PORT uint32
1 $MULTICAST_BACKUP_PORT uint32
2 $MULTICAST_FORWARD_STATE bool
3 $MULTICAST_CLEAR_FAST_FAILOVER bool
4 $COPY_TO_CPU_PORT_ENABLE bool
table $PORT PortConfigure 0xff010001 256
key 1 $DEV_PORT uint32
1 $SPEED string
2 $FEC string
3 $N_LANES uint32 =1
4 $PORT_ENABLE bool =0
5 $AUTO_NEGOTIATION string
6 $LOOPBACK_MODE string
7 $TX_MTU uint32 =10240
8 $RX_MTU uint32 =10240
9 $TX_PFC_EN_MAP uint32 =0
10 $RX_PFC_EN_MAP uint32 =0
11 $TX_PAUSE_FRAME_EN bool =0
12 $RX_PAUSE_FRAME_EN bool =0
13 $CUT_THROUGH_EN bool =0
14 $PORT_DIR string
15 $MEDIA_TYPE string !
21 $IS_VALID bool !
22 $IS_INTERNAL bool !
23 $CONN_ID uint32 !
24 $CHNL_ID uint32 !
25 $PORT_UP bool !
26 $PORT_NAME string !
attributes port_status_notif_cb
table $PORT_STAT PortStat 0xff010002 256
key 1 $DEV_PORT uint32
1 $FramesReceivedOK uint64
2 $FramesReceivedAll uint64
20 $FramesDroppedBufferFull uint64
33 $FramesTransmittedOK uint64
34 $FramesTransmittedAll uint64
35 $FramesTransmittedwithError uint64
attributes poll_intvl_ms
table $PORT_HDL_INFO PortHdlInfo 0xff010003 256
key 1 $CONN_ID uint32
key 2 $CHNL_ID uint32
1 $DEV_PORT uint32 !
table $PORT_STR_INFO PortStrInfo 0xff010005 256
key 1 $PORT_NAME string
1 $DEV_PORT uint32 !
table tf1.dev.device_configuration DevConfigure 0xff060001 1
1 sku string !
2 num_pipes uint32 !
3 num_stages uint32 !
4 num_max_ports uint32 !
5 num_front_ports uint32 !
6 pcie_cpu_port uint32 !
7 eth_cpu_port_list uint32 * !
8 internal_port_list uint32 * !
9 external_port_list uint32 * !
10 recirc_port_list uint32 * !
11 intr_based_link_monitoring bool !
12 flow_learn_intr_mode bool =0
13 lrt_dr_timeout_usec uint32 =0
14 flow_learn_timeout_usec uint32 =500
15 inactive_node_delete bool =0
16 selector_member_order bool =0
table tf1.pktgen.port_cfg PktgenPortCfg 0xff030001 256
key 1 dev_port uint32
1 recirculation_enable bool
2 pktgen_enable bool
3 pattern_matching_enable bool
4 clear_port_down_enable bool
table tf1.pktgen.app_cfg PktgenAppCfg 0xff030002 8
key 1 app_id uint32
12 app_enable bool
13 pkt_len uint16
14 pkt_buffer_offset uint16
15 pipe_local_source_port uint32
16 increment_source_port bool
17 batch_count_cfg uint16
18 packets_per_batch_cfg uint16
19 ibg uint32
20 ibg_jitter uint32
21 ipg uint32
22 ipg_jitter uint32
23 batch_counter uint64
24 pkt_counter uint64
25 trigger_counter uint64
action 1 trigger_timer_one_shot
1 timer_nanosec uint32
action 2 trigger_timer_periodic
1 timer_nanosec uint32
action 3 trigger_port_down
action 4 trigger_recirc_pattern
4 pattern_value uint32
5 pattern_mask uint32
table tf1.pktgen.pkt_buffer PktgenPktBufferCfg 0xff030003 1024
key 1 pkt_buffer_offset uint32
key 2 pkt_buffer_size uint32
1 buffer octet *
"""

_CHOICES: Final = {
    "$direction": ("INGRESS", "EGRESS", "BOTH"),
    "$packet_color": ("GREEN", "YELLOW", "RED"),
    "$SPEED": tuple(
        f"BF_SPEED_{speed}"
        for speed in ("NONE", "1G", "10G", "25G", "40G", "40G_NB", "40G_NON_BREAKABLE", "50G", "100G", "200G", "400G")
    ),
    "$FEC": tuple(f"BF_FEC_TYP_{fec}" for fec in ("NONE", "FIRECODE", "REED_SOLOMON", "FC", "RS")),
    "$AUTO_NEGOTIATION": ("PM_AN_DEFAULT", "PM_AN_FORCE_ENABLE", "PM_AN_FORCE_DISABLE"),
    "$LOOPBACK_MODE": tuple(
        f"BF_LPBK_{mode}" for mode in ("NONE", "MAC_NEAR", "MAC_FAR", "PCS_NEAR", "SERDES_NEAR", "SERDES_FAR")
    ),
    "$PORT_DIR": ("PM_PORT_DIR_DEFAULT", "PM_PORT_DIR_TX_ONLY", "PM_PORT_DIR_RX_ONLY"),
    "$MEDIA_TYPE": ("BF_MEDIA_TYPE_COPPER", "BF_MEDIA_TYPE_OPTICAL", "BF_MEDIA_TYPE_UNKNOWN"),
}
_BYTES: Final = {"bytes": 128, "octet": 8}
"""Bits of fields whose type is that of bytes."""
_FIELD: Final = re.compile(r"(\d+) (\S+) (\w+)((?: [*+!])*)(?: =(\d+))?")


@cache
def chip() -> Description:
    """The tables of the chip."""
    tables: list[TableSpec] = []
    for line in _TABLES.strip().splitlines():
        word, _, rest = line.partition(" ")
        if word == "table":
            name, kind, number, size = rest.split()
            tables.append(TableSpec(int(number, 16), name, kind, int(size)))
        else:
            tables[-1] = _extended(tables[-1], word, rest, line)
    return Description({t.name: t for t in tables}, {})


def _extended(table: TableSpec, word: str, rest: str, line: str) -> TableSpec:
    if word == "key":
        return replace(table, key=(*table.key, replace(_field(rest), mandatory=True)))
    if word == "attributes":
        return replace(table, attributes=tuple(rest.split()))
    if word == "action":
        number, name = rest.split()
        return replace(table, actions=(*(table.actions or ()), ActionSpec(int(number), name)))
    if not table.actions:
        return replace(table, data=(*table.data, _field(line)))
    *before, last = table.actions
    return replace(table, actions=(*before, replace(last, params=(*last.params, _field(line)))))


def _field(text: str) -> BfrtField:
    match = _FIELD.fullmatch(text)
    assert match is not None, text
    number, name, kind, marks, default = match.groups()
    wide = _BYTES.get(kind, 0)
    value = None if default is None else bool(int(default)) if kind == "bool" else int(default)
    return BfrtField(
        int(number),
        name,
        "bytes" if wide else kind,
        width=wide,
        repeated="*" in marks,
        mandatory="+" in marks,
        read_only="!" in marks,
        default=value,
        choices=_CHOICES.get(name, ()),
    )
