# SPDX-License-Identifier: Apache-2.0
"""``offramp graph convert``: convert any graph to a file that every command takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_cli.stages import stages


@dataclass(frozen=True)
class GraphConvertSettings:
    """A graph to read, and the file to write."""

    graph: Annotated[
        str,
        Field(
            "A name, an .npz file, an edge list, a folder of SNAP's MUSAE graphs, pyg:CLASS/NAME or a generator",
            position=True,
        ),
    ]
    file: Annotated[
        Path, Field("The .npz file to write: CSR matrices of edges and features, labels, split", position=True)
    ]
    features: Annotated[Path | None, Field("Features for an edge list: .npy, or text with one row per vertex")] = None
    labels: Annotated[Path | None, Field("Labels for an edge list: .npy, or text with one integer per vertex")] = None
    split: Annotated[str | None, Field("planetoid, or fractions such as 0.6/0.2/0.2; by default the source's own")] = (
        None
    )
    seed: Annotated[int, Field("Random seed for splits and generators", least=0)] = 0


@command(GraphConvertSettings, Result, example="graph convert karate karate.npz --json -")
def convert(settings: GraphConvertSettings, result: Result) -> None:
    """Read a graph and write it to an .npz file, with its split."""
    from offramp.graph.load import load
    from offramp.graph.npz import save_npz

    if settings.file.suffix != ".npz":
        raise OfframpError(f"{settings.file}: expected the name of an .npz file")
    console = show.console()
    with stages(console) as stage:
        stage("reading")
        graph = load(settings.graph, settings.seed, settings.split, settings.features, settings.labels)
        stage("writing")
        save_npz(graph, settings.file)
    numbers = {
        "graph": graph.name,
        "vertices": graph.vertices,
        "edges": len(graph.indices) // 2,
        "features": graph.features.shape[1],
        "classes": graph.classes,
        "train": int(graph.train.sum()),
        "val": int(graph.val.sum()),
        "test": int(graph.test.sum()),
    }
    console.print(show.facts({**numbers, "file": settings.file}.items()))
    result.write("offramp.graph.convert/1", numbers)
