# SPDX-License-Identifier: Apache-2.0
"""The engines that an overlay may have: their DMA engines, memory ports and addresses; needs nothing."""

from __future__ import annotations

ENGINES = ("kvs_lookup", "reduce", "ebs_lookup", "p2p_dma", "path_router", "quantpack")
DMAS = {
    "kvs_lookup": {"kvs_dma": ("s_axis", "m_axis")},
    "reduce": {"reduce_dma": ("s_axis", "m_axis")},
    "ebs_lookup": {"ebs_dma": ("s_axis", "m_axis")},
    "p2p_dma": {"copy_dma": ("s_axis", "m_axis")},
    "path_router": {},
    "quantpack": {
        "quantise_dma": ("s_axis_values", "m_axis_codes"),
        "dequantise_dma": ("s_axis_codes", "m_axis_values"),
    },
}
"""The DMA engines of those cores that a processor asks, and the streams that they feed."""

MEMORY_PORTS = {
    "kvs_lookup": ("m_axi_0", "m_axi_1"),
    "ebs_lookup": ("m_axi_volumes", "m_axi_entries", "m_axi_addresses"),
    "p2p_dma": ("m_axi_host", "m_axi_acc", "m_axi_nic"),
}
USUAL = ("kvs_lookup", "reduce", "ebs_lookup")
"""In a simulated card, unless it is told otherwise."""

PAGE = 0x10000
BASE = 0x40000000
TIMER = BASE + 0xFF * PAGE
DRAM_BASE = 0x10000000
"""Addresses of a simulated board."""


def registers_at(engine: str) -> int:
    """Address of an engine's registers in a simulated board."""
    return BASE + 4 * ENGINES.index(engine) * PAGE


def dmas_at(engine: str) -> dict[str, int]:
    """Addresses of the registers of its DMA engines."""
    return {name: registers_at(engine) + place * PAGE for place, name in enumerate(DMAS[engine], 1)}
