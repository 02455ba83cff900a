"""The engines that an overlay may have: their DMA engines, memory ports and addresses; needs nothing."""

from __future__ import annotations

ENGINES = ("kvs_lookup", "reduce", "ebs_lookup", "p2p_dma", "path_router")
DMAS = {"kvs_lookup": "kvs_dma", "reduce": "reduce_dma", "ebs_lookup": "ebs_dma", "p2p_dma": "copy_dma"}
"""What feeds the streams of those that a processor asks."""

MEMORY_PORTS = {
    "kvs_lookup": ("m_axi_0", "m_axi_1"),
    "ebs_lookup": ("m_axi_volumes", "m_axi_entries", "m_axi_addresses"),
    "p2p_dma": ("m_axi_host", "m_axi_acc", "m_axi_nic"),
}
USUAL = ("kvs_lookup", "reduce", "ebs_lookup")
"""In a simulated card, unless it is told otherwise."""

PAGE = 0x10000
BASE = 0x40000000
TIMER = BASE + 2 * len(ENGINES) * PAGE


def registers_at(engine: str) -> int:
    """Address of an engine's registers in a simulated board."""
    return BASE + 2 * ENGINES.index(engine) * PAGE


def dma_at(engine: str) -> int:
    """Address of its DMA engine's registers."""
    return registers_at(engine) + PAGE
