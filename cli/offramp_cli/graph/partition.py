# SPDX-License-Identifier: Apache-2.0
"""``offramp graph partition``: cut a graph into a folder whose parts the ranks open."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_cli.stages import stages


@dataclass(frozen=True)
class GraphPartitionSettings:
    """The graph and its partitioning."""

    graph: Annotated[
        str,
        Field(
            "A folder of .npy files, or of such folders by type, .parquet, PyG's .pt, DGL's .bin, DistDGL's .json, "
            "PyG's or OGB's folder, or what offramp plan takes",
            position=True,
        ),
    ]
    store: Annotated[Path, Field("The folder to write", position=True)]
    parts: Annotated[int, Field("Ranks that will share the graph", least=1)] = 2
    method: Annotated[
        str,
        Field(
            "stream (memory grows with the number of vertices only), given (as DistDGL or PyG cut it), or a method of "
            "offramp plan, which needs room for the graph twice"
        ),
    ] = "stream"
    passes: Annotated[int, Field("Refinement passes of stream; each reads the edges once more", least=0)] = 8
    seed: Annotated[int, Field("Random seed", least=0)] = 0


@command(GraphPartitionSettings, Result, example="graph partition karate karate-2 --parts 2 --json -")
def partition(settings: GraphPartitionSettings, result: Result) -> None:
    """Cut a graph and write each rank's part to a folder, with checksums."""
    from offramp.graph import write_store
    from offramp.graph.cut import cut
    from offramp.graph.open_source import open_source

    console = show.console()
    with stages(console) as stage:
        stage("reading")
        source = open_source(settings.graph, settings.seed)
        stage("cutting")
        owner = cut(source, settings.parts, settings.method, settings.passes, settings.seed)
        stage("writing")
        manifest = write_store(source, owner, settings.parts, settings.store, settings.method)
    rows = {
        "graph": manifest.name,
        "vertices": manifest.vertices,
        "directed edges": manifest.edges,
        "edges between parts": f"{manifest.cut_edges} ({manifest.cut_edges / max(1, manifest.edges):.1%})",
        "halo rows": manifest.halo,
        "store": settings.store,
    }
    if manifest.vertex_types:
        rows["types of vertices"] = ", ".join(f"{name} {count}" for name, count in manifest.vertex_types.items())
        rows["types of edges"] = ", ".join(f"{s} {name} {t} {count}" for s, name, t, count in manifest.edge_types)
    rows |= {key.replace("_", " "): value for key, value in manifest.notes.items() if value}
    console.print(show.facts(rows.items()))
    numbers = asdict(manifest)
    del numbers["files"]
    result.write("offramp.graph.partition/1", numbers)
