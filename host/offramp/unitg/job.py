# SPDX-License-Identifier: Apache-2.0
"""The job of one process: its stage of the pipeline and its replica of the language model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.unitg.checkpoint import ResumedStage, facts_of, resumed_stages
from offramp.unitg.language_model import EXITS, LanguageModel, seeded
from offramp.unitg.lazy_tuner import Batches, centrality_groups, random_groups, value_groups
from offramp.unitg.microbatches import Microbatch, affinity_split, cut_edges, make_microbatches, random_split
from offramp.unitg.schedule import PipelinePosition, split_layers
from offramp.unitg.settings import UnitgSettings
from offramp.unitg.text import PAD, Tokens, tokenise, vertex_texts
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.unitg.encoder import Encoder


@sendable
@dataclass(frozen=True)
class Corpus:
    """All texts as tokens, the language model's training targets and batches; ``pad`` fills rows."""

    tokens: Tokens
    vocabulary: int
    labels: npt.NDArray[np.int64]
    batches: Batches
    pad: int = PAD

    def model(self, settings: UnitgSettings, width: int, classes: int) -> LanguageModel | Encoder:
        """The language model of the settings, equal on every rank, with embeddings of ``width``."""
        if settings.encoder is not None:
            from offramp.unitg.encoder import Encoder

            return Encoder(settings.encoder, self.tokens, self.pad, width, classes, settings.seed)
        sizes = (self.vocabulary, settings.lm_length, settings.lm_width, settings.lm_layers, settings.lm_heads)
        return seeded(settings.seed, *sizes, width, classes)


@sendable
@dataclass(frozen=True)
class UnitgJob:
    """Everything that one rank needs to take part.

    Attributes:
        settings: settings of the run.
        place: position in the pipeline.
        layers: layers of this stage.
        widths: input features, hidden widths, classes.
        microbatches: pieces of the graph.
        features: ``(n, F)`` features of the whole graph, at the first stage.
        labels, masks: ``(n,)`` and ``(3, n)`` of the whole graph, at the last stage.
        whole: the graph as a single piece, for the evaluation at the end.
        corpus: texts of the language model, if there is one.
        facts: facts about the run, for its checkpoints.
        resumed: state from which the stage resumes.
    """

    settings: UnitgSettings
    place: PipelinePosition
    layers: range
    widths: list[int]
    microbatches: list[Microbatch]
    features: npt.NDArray[np.float32] | sp.csr_matrix | None
    labels: npt.NDArray[np.int64] | None
    masks: npt.NDArray[np.bool_] | None
    whole: Microbatch
    corpus: Corpus | None
    facts: dict[str, Any]
    resumed: ResumedStage | None = None

    @property
    def steps(self) -> int:
        """Steps of the language model in a round."""
        return self.settings.lm_epochs * self.corpus.batches.steps_of_epoch() if self.corpus else 0


@dataclass(frozen=True)
class Planned:
    """A run before any process starts: the jobs in rank order, and facts about them for reports."""

    jobs: list[UnitgJob]
    facts: dict[str, Any]


def plan(graph: Graph, settings: UnitgSettings) -> Planned:
    """Cut graph and model into pieces, and make the texts.

    Raises:
        OfframpError: the settings do not fit the graph.
    """
    if graph.metadata.get("no_labels"):
        raise OfframpError(f"{graph.name}: has no labels; expected a class for each vertex")
    if not graph.train.any():
        raise OfframpError(f"{graph.name}: no training vertices; expected another split")
    count = settings.microbatches_of(graph.vertices)
    if settings.cut == "affinity":
        split = affinity_split(graph, count, settings.seed)
    else:
        split = random_split(graph.vertices, count, settings.seed)
    pieces = make_microbatches(graph, split)
    (whole,) = make_microbatches(graph, [np.arange(graph.vertices)])
    layers = split_layers(settings.layers, settings.stages)
    corpus = _corpus(graph, settings) if settings.has_text else None
    masks = np.stack([graph.train, graph.val, graph.test])
    known = facts_of(graph, settings, count)
    jobs = []
    for stage, own in enumerate(layers):
        place = PipelinePosition(stage, settings.stages, count)
        jobs.append(
            UnitgJob(
                settings,
                place,
                own,
                settings.widths(graph.width, graph.classes),
                pieces,
                graph.features if place.first else None,
                graph.labels if place.last else None,
                masks if place.last else None,
                whole,
                corpus,
                known,
            )
        )
    if settings.resume is not None:
        states = resumed_stages(settings.resume, known, jobs)
        jobs = [replace(job, resumed=state) for job, state in zip(jobs, states, strict=True)]
    facts = {
        "graph_name": graph.name,
        "vertices": graph.vertices,
        "edges": graph.edges,
        "microbatches": count,
        "cut_edges": cut_edges(graph, split),
        "layers_of_stage": [len(own) for own in layers],
        "lm_vocabulary": corpus.vocabulary if corpus else 0,
    }
    return Planned(jobs, facts)


def _corpus(graph: Graph, settings: UnitgSettings) -> Corpus:
    texts = vertex_texts(graph, settings.text, settings.lm_length - 1, settings.seed)
    if settings.encoder is not None:
        from offramp.unitg import encoder

        tokens, vocabulary, pad = encoder.tokenise(settings.encoder, texts, settings.lm_length)
    else:
        (tokens, vocabulary), pad = tokenise(texts, settings.lm_length), PAD
    match settings.exits:
        case "centrality":
            groups = centrality_groups(graph.degrees)
        case "value":
            groups = value_groups(graph.degrees)
        case "random":
            groups = random_groups(graph.vertices, EXITS, settings.seed)
        case _:
            groups = [np.zeros(0, np.int64)] * (EXITS - 1) + [np.arange(graph.vertices)]
    batches = Batches(groups, graph.train, settings.lm_batch, settings.stages, settings.seed, settings.exits == "value")
    return Corpus(tokens, vocabulary, graph.labels, batches, pad)
