# SPDX-License-Identifier: Apache-2.0
"""Parameters of each RTL module: values that every tool refuses, and edges that all of them take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from offramp.fpga.sources import headers, modules

WRONG: Final[dict[str, dict[str, tuple[int, ...]]]] = {
    "aggregate": {"PAGES": (0, 3, 512), "JOBS": (0, 5)},
    "aggregate_slots": {"SLOTS": (128, 300)},
    "allreduce": {"PAGES": (-1, 0, 6)},
    "answers": {"WIDTH": (120, 132), "PLACES": (0, 12)},
    "arbiter": {"COUNT": (0, 1)},
    "async_fifo": {"WIDTH": (0,), "DEPTH": (2, 12)},
    "bucket_memory": {"LINES": (1, 12)},
    "chip_engines": {
        "LINES": (0, 12),
        "FLIGHT": (1, 12),
        "INPUTS": (1, 3),
        "FLOAT32S": (2,),
        "DEPTH": (1, 12),
        "COUNTERS": (0, 6),
        "ENTRIES": (-4, 2, 12, 131072),
        "EBS_LINES": (-2, 1, 12, 131072),
        "QUANTPACK_DEPTH": (1, 12, 8192),
        "MOST_ANSWER": (2,),
    },
    "cmac_frames": {"RX_DEPTH": (16, 48), "TX_DEPTH": (16, 48)},
    "cmac_link": {"WAIT": (3,)},
    "cmac_rx": {"MOST": (0, 1536), "LEAST": (0, 65)},
    "code_pack": {"LANES": (0, 12)},
    "code_unpack": {"LANES": (0, 12)},
    "control_port": {
        "LINES": (1, 12),
        "COUNTERS": (0, 6),
        "ENTRIES": (-4, 2, 12, 131072),
        "EBS_LINES": (-2, 12, 131072),
        "ENGINES": (3, 5),
    },
    "credit": {"COUNT": (0,)},
    "deep_fifo": {"WIDTH": (0,), "DEPTH": (1, 12), "ROOM": (0, 12, 512)},
    "delay": {"WIDTH": (0,), "CYCLES": (0,)},
    "demonstrator": {"DIVISOR": (1, 3), "LINES": (1, 12), "INPUTS": (1, 3)},
    "dequantise": {"WIDTH": (128, 1024), "DEPTH": (1, 12, 4096)},
    "dma_align": {"WIDTH": (128, 384, 2048)},
    "dma_burst": {"WIDTH": (64, 384, 2048), "BURST": (0, 257)},
    "dma_check": {"WIDTH": (128, 384, 2048)},
    "dma_complete": {"WIDTH": (64, 132)},
    "dma_read": {"WIDTH": (64, 384, 2048), "BURST": (0, 257), "DEPTH": (0, 8)},
    "dma_write": {"WIDTH": (64, 384, 2048), "BURST": (0, 257)},
    "ebs_bucket": {"ITEM": (0,)},
    "ebs_claims": {"FLIGHT": (1, 12)},
    "ebs_lookup": {"WIDTH": (64, 200), "FLIGHT": (1, 12)},
    "ebs_stage": {"ITEM": (0,), "LINE": (60, 128), "SIZE": (-1, 2, 8), "FLIGHT": (1, 12)},
    "fifo": {"WIDTH": (-1, 0), "DEPTH": (-16, 0, 1, 12)},
    "fp32_div": {"DIVISOR_BITS": (1, 25)},
    "frame_queue": {"WIDTH": (0,), "DEPTH": (2, 12)},
    "frame_store": {"DEPTH": (64, 200)},
    "frame_widen": {"LEAST": (0, 65)},
    "gmii_rx": {"MOST": (63, 2047)},
    "kernel_shell": {"WIDTH": (64, 384, 2048)},
    "kvs_lookup": {"WIDTH": (64, 200), "FLIGHT": (1, 12), "LINE_BUFFERS": (2,)},
    "kvs_pack": {"WIDTH": (64, 200)},
    "kvs_parse": {"WIDTH": (64, 200)},
    "kvs_port": {"LINE_BUFFERS": (2,)},
    "leading_zeros": {"WIDTH": (0, 60)},
    "line_memory": {"LINES": (1, 12)},
    "memory_sink": {"WIDTH": (32, 384, 2048)},
    "memory_source": {"WIDTH": (64, 384, 2048), "BURST": (0, 257), "DEPTH": (16, 48)},
    "multiply_low": {"WIDTH": (16, 48)},
    "narrow": {"WIDTH": (120, 132), "MOST": (0,)},
    "neighbour_sums": {"AGGREGATORS": (8, 24, 131072), "VERTICES": (8, 24, 131072), "EDGES": (8, 24, 131072)},
    "p2p_dma": {"WIDTH": (128, 384, 2048), "BURST": (0, 12, 128), "DEPTH": (16, 48, 1024), "QUEUE": (1, 12, 256)},
    "packet_turns": {"COUNT": (0, 1)},
    "path_in": {"WIDTH": (0,), "MODELS": (0,), "PORT": (-1, 4)},
    "path_mux": {"WIDTH": (0,), "COUNT": (0,)},
    "path_out": {"WIDTH": (0,), "COUNT": (1,)},
    "path_router": {"WIDTH": (0, 12), "DEPTH": (1, 12), "PACKET": (0, 12, 256), "MODELS": (0,)},
    "path_way": {"MODELS": (0,), "PORT": (-1, 4)},
    "quantise": {"WIDTH": (128, 1024), "DEPTH": (1, 12, 4096)},
    "quantise_rows": {"LANES": (1, 12, 64), "ROWS": (1, 12)},
    "quantpack": {"WIDTH": (128, 1024), "DEPTH": (1, 12, 4096)},
    "reduce": {"WIDTH": (64, 384), "DEPTH": (1, 12), "INPUTS": (1, 3, 16), "FLOAT32S": (2,), "BFLOAT16S": (2,)},
    "reduce_buffer": {"WIDTH": (64, 384), "DEPTH": (1, 12), "INPUTS": (1, 3), "FLOAT32S": (2,), "BFLOAT16S": (2,)},
    "reduce_floats": {"COUNT": (1, 3)},
    "reduce_header": {"WIDTH": (64, 384), "MOST": (0,), "INPUTS": (1, 3), "FLOAT32S": (2,), "BFLOAT16S": (2,)},
    "reduce_pipe": {"WIDTH": (64, 144), "INPUTS": (1, 3), "FLOAT32S": (2,), "BFLOAT16S": (2,)},
    "reduce_streams": {"WIDTH": (64, 384)},
    "reduce_word": {"INPUTS": (1, 3), "FLOAT32S": (2,), "BFLOAT16S": (2,)},
    "reply_sender": {"PLACES": (0, 256)},
    "request_window": {"PLACES": (1, 12, 512), "SOURCES": (2, 9)},
    "rounding": {"LANES": (4, 12)},
    "row_bounds": {"LANES": (1, 12, 64)},
    "row_jobs": {"DEPTH": (4, 12), "GROUPS": (2,)},
    "row_packets": {"WIDTH": (128, 1024), "MOST": (0, 32769), "PACKED": (2,)},
    "row_store": {"WIDTH": (0,), "DEPTH": (2, 12)},
    "serial_frames": {"DIVISOR": (1, 3)},
    "skid_buffer": {"WIDTH": (0,)},
    "sum_words": {"WORDS": (0, 65)},
    "switch_check": {"HEADER_BYTES": (33, 61), "FRAME_BYTES": (54,)},
    "switch_frames": {"HEADER_BYTES": (33, 61), "FRAME_BYTES": (54,)},
    "switch_lanes": {"DEPTH": (1, 12)},
    "switch_parser": {"HEADER_BYTES": (48, 64)},
    "switch_sender": {"HEADER": (48, 61), "BEATS": (2, 12, 32)},
    "switchgnn": {"AGGREGATORS": (8, 24), "VERTICES": (8, 24), "EDGES": (8, 24)},
    "synchroniser": {"WIDTH": (0,)},
    "tally_crossing": {"WIDTH": (0, 2)},
    "uart_rx": {"DIVISOR": (0, 3)},
    "uart_tx": {"DIVISOR": (0, 1)},
    "udp_engines": {
        "FLOAT32S": (2,),
        "PAGES": (-1, 3, 512),
        "AGGREGATORS": (-1, 8, 24),
        "PATIENCE": (0,),
        "PLACES": (1, 12),
        "LINES": (1, 12),
        "INPUTS": (1, 3),
        "DEPTH": (1, 12),
        "EBS_LINES": (1, 12),
        "QUANTPACK_DEPTH": (1, 12, 8192),
        "STORE": (64, 200),
    },
    "udp_card": {"PLACES": (12,)},
    "udp_card_cmac": {"RX_DEPTH": (16, 48)},
    "udp_server": {"PATIENCE": (0,), "TARGETS": (2, 5), "QUANTPACK": (2,)},
    "vertex_sums": {"AGGREGATORS": (1, 12)},
    "vertex_table": {"ENTRIES": (8, 24, 131072)},
    "wide_add": {"WIDTH": (1,)},
    "wide_subtract": {"WIDTH": (1,)},
    "widen": {"WIDTH": (0, 12)},
    "word_memory": {"LINES": (1, 12)},
}
"""Values by module and parameter, each wrong by itself beside the defaults."""

TAKEN: Final[dict[str, tuple[dict[str, int], ...]]] = {
    "aggregate": ({"PAGES": 2, "JOBS": 1},),
    "arbiter": ({"COUNT": 2},),
    "async_fifo": ({"WIDTH": 1, "DEPTH": 4},),
    "control_port": ({"LINES": 2, "COUNTERS": 8, "ENTRIES": 65536, "EBS_LINES": 65536, "ENGINES": 8},),
    "credit": ({"COUNT": 1},),
    "deep_fifo": ({"DEPTH": 2, "ROOM": 1},),
    "delay": ({"WIDTH": 1, "CYCLES": 1},),
    "dma_burst": ({"WIDTH": 128, "BURST": 256}, {"WIDTH": 1024, "BURST": 1}),
    "ebs_stage": ({"ITEM": 1, "LINE": 1024, "SIZE": 7, "FLIGHT": 2},),
    "fifo": ({"WIDTH": 1, "DEPTH": 2}, {"WIDTH": 200, "DEPTH": 4096}),
    "fp32_div": ({"DIVISOR_BITS": 2},),
    "leading_zeros": ({"WIDTH": 1}, {"WIDTH": 59}),
    "memory_source": ({"WIDTH": 128, "BURST": 1, "DEPTH": 2}, {"WIDTH": 1024, "BURST": 256, "DEPTH": 512}),
    "narrow": ({"WIDTH": 136, "MOST": 1},),
    "path_way": ({"MODELS": 4, "PORT": 3},),
    "reduce_header": ({"WIDTH": 128, "MOST": 1, "INPUTS": 2, "FLOAT32S": 0, "BFLOAT16S": 0},),
    "row_bounds": ({"LANES": 2}, {"LANES": 32}),
    "row_jobs": ({"DEPTH": 8, "GROUPS": 0},),
    "sum_words": ({"WORDS": 1}, {"WORDS": 64}),
    "switch_sender": ({"HEADER": 49, "BEATS": 4},),
    "tally_crossing": ({"WIDTH": 3},),
    "vertex_table": ({"ENTRIES": 16},),
    "wide_add": ({"WIDTH": 2},),
}
"""Edges of what a module takes, with which every tool elaborates it."""

ANY: Final[dict[str, str]] = {
    "*.ADDRESS": "every word of 32 bits is an IPv4 address",
    "*.CLOCK": "a number that the card reports",
    "*.POLYNOMIAL": "every word of 32 bits is a polynomial",
    "*.PROTOCOL": "every byte is a protocol's number",
    "*.USED": "every set of queues, the empty one too",
    "multiply_low.FACTOR": "every word is a factor",
    "reply_sender.LINES": "a number that the card reports",
    "ddr_in.DELAY": "the model has no delay",
    "ddr_out.DELAY": "the model has no delay",
    "rgmii.RX_DELAY": "the board's ddr_in checks it",
    "rgmii.TX_DELAY": "the board's ddr_out checks it",
    "udp_card.RX_DELAY": "the board's ddr_in checks it",
    "udp_card.TX_DELAY": "the board's ddr_out checks it",
}
"""Parameters without a precondition, and the reason."""

SAME: Final = {"udp_card": "udp_engines", "udp_card_cmac": "udp_engines"}
"""Modules that hand all of their other parameters on to one that the table has."""

UNUSED: Final = frozenset({"udp_engines.VERTICES", "udp_engines.EDGES"})
"""Parameters of an engine that the defaults leave out: `switchgnn` has them."""

_PARAMETER: Final = re.compile(r"\bparameter\b\s*(?:\[[^\]]*\]\s*)?(\w+)\s*=")
_MACRO: Final = re.compile(r"`define (\w+)(?:\([^)]*\))?((?:[^\n]*\\\n)*[^\n]*)")


def parameters(path: Path) -> list[str]:
    """The parameters that a module declares, those of its macros included."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    macros = {name: body for header in headers().values() for name, body in _MACRO.findall(header.read_text("utf-8"))}
    header = re.search(r"^module \w+ #\((.*?)^\)", text, re.DOTALL | re.MULTILINE)
    declared = header.group(1) if header else ""
    while names := [name for name in re.findall(r"`(\w+)", declared) if name in macros]:
        for name in names:
            declared = declared.replace(f"`{name}", macros[name])
    return _PARAMETER.findall(declared)


def unjudged() -> list[str]:
    """Parameters of which nothing here says what is wrong for them."""
    return [
        f"{module}.{name}"
        for module, path in modules().items()
        for name in parameters(path)
        if name not in WRONG.get(module, {})
        and not {f"{module}.{name}", f"*.{name}"} & (ANY.keys() | UNUSED)
        and not (module in SAME and (name in WRONG[SAME[module]] or f"{SAME[module]}.{name}" in UNUSED))
    ]
