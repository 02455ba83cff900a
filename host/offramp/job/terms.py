# SPDX-License-Identifier: Apache-2.0
"""One-line explanations of the ways of jobs, for a job's report."""

from __future__ import annotations

from typing import Final

TERMS: Final = {
    "gloo": "sums of gradients in a ring between the hosts, as PyTorch makes them on its own",
    "allreduce": "switches add the gradients on their way (docs/allreduce.md)",
    "hermod": "messages have priorities in the switches' queues by what waits for them (Hermod, docs/hermod.md)",
    "themis": "chunks of a sum take the network's dimensions in the order that loads them evenly (Themis)",
    "sylvie": "gradients travel in few bits, rounded at random (Sylvie)",
    "random": "vertices are dealt out at random, and every worker asks the others for neighbours and rows",
    "replicated": "every worker has all edges and asks the others for rows only",
    "dgs": "vertices lie where what they are sampled with lies (DGS, docs/dgs.md)",
    "dgs+replicated": "as dgs, and every worker has all edges",
    "one-path": "every request takes the first path that the application names",
    "lookahead": "a request takes the path on which it will be done first (LEO, docs/leo.md)",
    "outstanding": "a request takes the path with the fewest requests under way",
    "weighted": "requests are dealt out to paths in proportion to what they sustain",
    "full": "attention of every token to every other",
    "topology": "attention along the graph's edges only",
    "reformed": "attention along the graph's edges, gathered into dense blocks (TorchGT, docs/torchgt.md)",
    "reformed+bfloat16": "as reformed, in half precision",
    "p2p": "each worker sends the features of a vertex straight to every worker that needs them",
    "g3": "as p2p, in bins whose messages travel while others are computed (G3, docs/full-graph.md)",
    "g3+sylvie": "as g3, in few bits (Sylvie)",
    "switchgnn": "the switch adds features of neighbouring vertices by a plan made beforehand (docs/switchgnn.md)",
    "switchgnn+q8": "as switchgnn, in 8 bits",
    "switchgnn+allreduce": "as switchgnn, and switches add the gradients on their way too",
    "sequential": "the graph network and the language model train one after the other",
    "colocated": "both share the same devices (UniTG, docs/unitg.md)",
    "interleaved": "the one's work fills the gaps of the other's pipeline (UniTG, docs/unitg.md)",
}
"""One line about each way."""
