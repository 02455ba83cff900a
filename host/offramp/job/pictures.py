# SPDX-License-Identifier: Apache-2.0
"""A job's report in pictures, and its terms: a step by each way, bytes of each host, what the ways are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from offramp.report import sections
from offramp.report.charts import Bar, bar_chart
from offramp.report.units import duration, tick

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
    "sequential": "the graph network and the language model train one after the other",
    "colocated": "both share the same devices (UniTG, docs/unitg.md)",
    "interleaved": "the one's work fills the gaps of the other's pipeline (UniTG, docs/unitg.md)",
}
"""What each way is, in a line."""

_SHOWN: Final = 16
"""Most hosts of which bytes are drawn; the table below has all."""


def terms(content: Mapping[str, Any]) -> str:
    """Explanation of the ways that the job could take."""
    ways = [row["offload"] for row in content["plan"] if row["offload"] in TERMS]
    return sections.terms({way: TERMS[way] for way in ways})


def pictures(content: Mapping[str, Any]) -> str:
    """A step by each way, predicted and measured, and the bytes that hosts sent by each way that ran."""
    steps, sent = _steps(content), _bytes(content)
    return f'<div class="cards">{steps}{sent}</div>' if steps or sent else ""


def _steps(content: Mapping[str, Any]) -> str:
    groups = []
    for row in content["plan"]:
        measured = content["measured"].get(row["offload"], {}).get("step_s")
        bars = [
            Bar(name, value, value, style)
            for name, value, style in (("predicted", row["step_s"], "local"), ("measured", measured, "switch"))
            if value
        ]
        if bars:
            groups.append((row["offload"], bars))
    if not groups:
        return ""
    top = max(bar.outer for _, bars in groups for bar in bars)
    chart = bar_chart(groups, x_label="way", y_label="one step", y_form=duration, top=top)
    return sections.card(
        f"<h3>Time of a step</h3>{sections.key([('local', 'predicted'), ('switch', 'measured')])}{chart}"
    )


def _bytes(content: Mapping[str, Any]) -> str:
    styles = {content["taken"]: "switch", content["plain"]: "p2p"}
    ways = [way for way, each in content["measured"].items() if each["bytes_by_link"]]
    hosts = list(content["measured"][content["taken"]]["bytes_by_link"])[:_SHOWN]
    if not ways or not hosts:
        return ""
    groups = []
    for host in hosts:
        sent = {way: content["measured"][way]["bytes_by_link"].get(host, [0])[0] for way in ways}
        groups.append((host, [Bar(way, size, size, styles.get(way, "strawman")) for way, size in sent.items()]))
    top = max(bar.outer for _, bars in groups for bar in bars)
    chart = bar_chart(groups, x_label="host", y_label="bytes sent", y_form=lambda y: tick(y, "B"), top=top or 1)
    key = sections.key([(styles.get(way, "strawman"), way) for way in ways])
    return sections.card(f"<h3>Bytes that each host sent</h3>{key}{chart}")
