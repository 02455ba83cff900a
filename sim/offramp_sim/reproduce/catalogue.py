# SPDX-License-Identifier: Apache-2.0
"""Everything that can be reproduced, by name."""

from __future__ import annotations

from offramp_base.errors import OfframpError
from offramp_sim.reproduce.dgs import accuracy as dgs_accuracy
from offramp_sim.reproduce.dgs import traffic as dgs_traffic
from offramp_sim.reproduce.dgtp import sensitivity as dgtp_sensitivity
from offramp_sim.reproduce.dgtp import simulations as dgtp_simulations
from offramp_sim.reproduce.dgtp import testbed as dgtp_testbed
from offramp_sim.reproduce.g3 import figures as g3_figures
from offramp_sim.reproduce.g3 import measured as g3_measured
from offramp_sim.reproduce.hermod import effects as hermod_effects
from offramp_sim.reproduce.hermod import sweep as hermod_sweep
from offramp_sim.reproduce.hermod.scale import figure512, figure513
from offramp_sim.reproduce.hermod.tables import figure53, figure56, table52, table55
from offramp_sim.reproduce.hermod.testbed import figure58, figure59, figure510, figure511
from offramp_sim.reproduce.item import Item
from offramp_sim.reproduce.leo.applications import figure610, figure611, figure612, figure613
from offramp_sim.reproduce.leo.design import figure63, figure614, overheads
from offramp_sim.reproduce.leo.nic import figure611_measured
from offramp_sim.reproduce.switchgnn.epochs import figure15, improvements
from offramp_sim.reproduce.switchgnn.graphs import figure1, figure7, figure9, table1
from offramp_sim.reproduce.switchgnn.packets import figure16, figure19
from offramp_sim.reproduce.switchgnn.servers import figure11, figure12
from offramp_sim.reproduce.switchgnn.slots import figure2, figure17, figure18
from offramp_sim.reproduce.sylvie import accuracy as sylvie_accuracy
from offramp_sim.reproduce.sylvie import network as sylvie_network
from offramp_sim.reproduce.themis import design as themis_design
from offramp_sim.reproduce.themis import microbenchmark as themis_microbenchmark
from offramp_sim.reproduce.themis import training as themis_training
from offramp_sim.reproduce.torchgt import attention as torchgt_attention
from offramp_sim.reproduce.torchgt import scaling as torchgt_scaling
from offramp_sim.reproduce.torchgt import training as torchgt_training
from offramp_sim.reproduce.unitg import schedule as unitg_schedule
from offramp_sim.reproduce.unitg import training as unitg_training

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
        Item("themis/table1", "Algorithms of a dimension", 1, themis_design.table1),
        Item("themis/table2", "Topologies", 1, themis_design.table2),
        Item("themis/table3", "Schedulers", 1, themis_design.table3),
        Item("themis/fig4", "Training time against utilisation", 4, themis_training.figure4),
        Item("themis/fig5", "Four chunks over time", 1, themis_design.figure5),
        Item("themis/fig7", "Four chunks: orders and loads", 1, themis_design.figure7),
        Item("themis/fig8", "All-reduce time against size", 8, themis_microbenchmark.figure8),
        Item("themis/fig9", "Activity of the dimensions over time", 1, themis_microbenchmark.figure9),
        Item("themis/fig10", "Utilisation against the number of chunks", 8, themis_microbenchmark.figure10),
        Item("themis/fig11", "Utilisation against size", 8, themis_microbenchmark.figure11),
        Item("themis/fig12", "Training iterations and what they wait for", 10, themis_training.figure12),
        Item("themis/section6.3", "Provisioning of bandwidth", 2, themis_design.provisioning),
        Item("placement/table3", "Speed-up over DistDGL on the testbed", 20, dgtp_testbed.table3),
        Item("placement/fig7", "Network use over time", 10, dgtp_testbed.figure7),
        Item("placement/fig8", "Heterogeneous testbed", 20, dgtp_testbed.figure8),
        Item("placement/fig9", "Search time by criterion", 25, dgtp_testbed.figure9),
        Item("placement/fig10", "Training time against batch", 40, dgtp_simulations.figure10),
        Item("placement/fig11", "Time against peak-to-mean ratio", 35, dgtp_simulations.figure11),
        Item("placement/bounds", "What the theorems promise and what happens", 7, dgtp_simulations.theorems),
        Item("placement/sensitivity", "What the search's settings are worth", 30, dgtp_sensitivity.sensitivity),
        Item("dgs/fig3.2", "Accuracy against random loss of features", 40, dgs_accuracy.figure32),
        Item("dgs/table3.3", "Bytes of an epoch", 400, dgs_traffic.table33),
        Item("dgs/table3.4", "Accuracy of all samplers", 90, dgs_accuracy.table34),
        Item("dgs/fig3.5", "Throughput against workers", 60, dgs_traffic.figure35),
        Item("dgs/fig3.8", "Bytes of an epoch by partition", 60, dgs_traffic.figure38),
        Item("dgs/fig3.9", "Epoch time against features and layers", 500, dgs_traffic.figure39),
        Item("dgs/fig3.10", "Accuracy against columns and epsilon", 60, dgs_accuracy.figure310),
        Item("dgs/table3.5", "What explanations cost", 15, dgs_traffic.table35),
        Item("hermod/table5.2", "One type of coflow first", 20, table52),
        Item("hermod/table5.5", "Models and what they send", 1, table55),
        Item("hermod/fig5.3", "Coflows at a core switch", 15, figure53),
        Item("hermod/fig5.6", "Line rate or in proportion", 1, figure56),
        Item("hermod/fig5.8", "Training speed on the testbed against its size", 10, figure58),
        Item("hermod/fig5.9", "Iteration time on the testbed against the rate of its links", 10, figure59),
        Item("hermod/fig5.10", "Interleaved 1F1B on the testbed", 10, figure510),
        Item("hermod/fig5.11", "What order and matchings give on the testbed", 20, figure511),
        Item("hermod/fig5.12", "Training speed from 1,024 to 8,192 GPUs", 200, figure512),
        Item("hermod/fig5.13", "Iteration time from 40 to 400 Gb/s, 1,024 GPUs", 30, figure513),
        Item("hermod/sweep", "Six models, 1,024 and 8,192 GPUs, 40 to 400 Gb/s", 120, hermod_sweep.figure),
        Item("torchgt/table4.2", "Topology against dense blocks, backward", 15, torchgt_attention.table42),
        Item("torchgt/table4.4", "Models", 2, torchgt_training.table44),
        Item("torchgt/table4.5", "Epoch time of full attention, topology and TorchGT", 90, torchgt_training.table45),
        Item("torchgt/table4.7", "16 bits against 32", 30, torchgt_training.table47),
        Item("torchgt/table4.8", "Static thresholds and the tuner", 60, torchgt_training.table48),
        Item("torchgt/fig4.5", "Throughput against the side of a block", 15, torchgt_attention.figure45),
        Item("torchgt/fig4.7", "Bytes and time against ranks", 30, torchgt_scaling.figure47),
        Item("torchgt/fig4.9", "Convergence on vertices", 30, torchgt_training.figure49),
        Item("torchgt/fig4.10", "Convergence on sets of graphs", 60, torchgt_training.figure410),
        Item("torchgt/fig4.11", "Time and memory of attention against length", 60, torchgt_attention.figure411),
        Item("g3/fig4.2", "Scalability with replicated neighbourhoods", 15, g3_figures.figure42),
        Item("g3/fig4.7", "Throughput beside mini-batches (figures 4.7 to 4.10)", 60, g3_figures.figure47),
        Item("g3/fig4.11", "Throughput beside full-graph systems", 40, g3_figures.figure411),
        Item("g3/fig4.12", "Time to accuracy", 20, g3_measured.figure412),
        Item("g3/fig4.13", "How busy devices are", 10, g3_figures.figure413),
        Item("g3/fig4.14", "Throughput against layers", 40, g3_figures.figure414),
        Item("g3/fig4.15", "Throughput against the width of features", 15, g3_figures.figure415),
        Item("g3/fig4.16", "Partitions under G3's pipeline", 30, g3_figures.figure416),
        Item("g3/fig4.17", "Pipelines, measured and simulated", 90, g3_measured.figure417),
        Item("g3/priorities", "Hermod's priorities on G3's exchanges", 40, g3_measured.priorities),
        Item("sylvie/accuracy", "Accuracy by width, fixed and adaptive (table 3.3)", 300, sylvie_accuracy.accuracy),
        Item("sylvie/table3.2", "Bytes of an epoch", 15, sylvie_network.table32),
        Item("sylvie/table3.9", "Epoch time by width", 90, sylvie_network.table39),
        Item("sylvie/table3.10", "Epoch time in step and stale", 90, sylvie_network.table310),
        Item("sylvie/table3.11", "Codes and bounds", 1, sylvie_network.table311),
        Item("leo/fig6.3", "What CPU and smartNIC give together", 2, figure63),
        Item("leo/fig6.10", "Key-value store: latency against the rate", 10, figure610),
        Item("leo/fig6.11", "Distributed file system against cores", 3, figure611),
        Item("leo/fig6.11-measured", "The same on CPU and agent, measured", 70, figure611_measured),
        Item("leo/fig6.12", "Elastic block storage against cores", 4, figure612),
        Item("leo/fig6.13", "All-reduce against size", 5, figure613),
        Item("leo/fig6.14", "Rules of path selection", 15, figure614),
        Item("leo/overheads", "Time of a decision, headers", 10, overheads),
        Item("hermod/effects", "Which effect gives which share of the gain", 30, hermod_effects.figure),
        Item("unitg/table5.1", "Accuracy with and without texts", 15, unitg_training.table51),
        Item("unitg/table5.2", "Time of an epoch in the order of affinity", 25, unitg_training.table52),
        Item("unitg/table5.4", "Models: weights, microbatches, bytes between stages", 3, unitg_schedule.table54),
        Item("unitg/table5.5", "Speed-up over one phase after the other", 1, unitg_schedule.table55),
        Item("unitg/table5.6", "Energy", 1, unitg_schedule.table56),
        Item("unitg/fig5.6", "Accuracy against microbatches", 30, unitg_training.figure56),
        Item("unitg/fig5.8", "The language model in bubbles", 5, unitg_schedule.figure58),
        Item("unitg/fig5.10", "What the pipeline gives", 3, unitg_training.figure510),
        Item("unitg/fig5.11", "Early exits", 15, unitg_training.figure511),
        Item("unitg/fig5.13", "Use of bubbles, and what it costs", 3, unitg_schedule.figure513),
    )
}


def find(name: str) -> list[Item]:
    """The item ``name``, all of a system (``switchgnn``) or ``all``.

    Raises:
        OfframpError: there is none.
    """
    found = [item for item in ITEMS.values() if name in ("all", item.name, item.name.split("/")[0])]
    if not found:
        systems = list(dict.fromkeys(item.split("/")[0] for item in ITEMS))
        own = [item for item in ITEMS if item.startswith(f"{name.split('/', maxsplit=1)[0]}/")]
        choice = f"one of {', '.join(own)}" if own else f"all, list, a system ({', '.join(systems)}) or an item of list"
        raise OfframpError(f"reproduce {name}: expected {choice}")
    return found
