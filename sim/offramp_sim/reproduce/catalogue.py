"""Everything that can be reproduced, by name."""

from __future__ import annotations

from offramp.errors import OfframpError
from offramp_sim.reproduce.item import Item
from offramp_sim.reproduce.switchgnn_epochs import figure15, improvements
from offramp_sim.reproduce.switchgnn_graphs import figure1, figure7, figure9, table1
from offramp_sim.reproduce.switchgnn_packets import figure16, figure19
from offramp_sim.reproduce.switchgnn_servers import figure11, figure12
from offramp_sim.reproduce.switchgnn_slots import figure2, figure17, figure18

ITEMS = {
    item.name: item
    for item in (
        Item("switchgnn/table1", "Data sets", 8, table1, files=True),
        Item("switchgnn/fig1", "Boundary and traffic against workers", 10, figure1, files=True),
        Item("switchgnn/fig2", "The strawman's throughput, occupancy, queue and traffic", 15, figure2, files=True),
        Item("switchgnn/fig7", "Skew of the neighbour counts", 5, figure7, files=True),
        Item("switchgnn/fig9", "Dependent boundary vertices", 10, figure9, files=True),
        Item("switchgnn/fig11", "Training throughput against workers", 20, figure11, files=True),
        Item("switchgnn/fig12", "Training throughput against layers", 20, figure12, files=True),
        Item("switchgnn/fig15", "Epoch time in a star", 60, figure15, files=True),
        Item("switchgnn/improvements", "What each step beyond the paper saves", 20, improvements, files=True),
        Item("switchgnn/fig16", "Epoch time in a leaf-spine network", 30, figure16, files=True),
        Item("switchgnn/fig17", "Graph-aware reordering against memory", 30, figure17, files=True),
        Item("switchgnn/fig18", "Traffic against memory", 60, figure18, files=True),
        Item("switchgnn/fig19", "Background traffic and congestion control", 30, figure19, files=True),
    )
}


def find(name: str) -> list[Item]:
    """The item ``name``, all of a system (``switchgnn``) or ``all``.

    Raises:
        OfframpError: there is none.
    """
    found = [item for item in ITEMS.values() if name in ("all", item.name, item.name.split("/")[0])]
    if not found:
        raise OfframpError(f"reproduce {name}: expected all, list or one of {', '.join(ITEMS)}")
    return found
