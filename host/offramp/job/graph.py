# SPDX-License-Identifier: Apache-2.0
"""Full-graph training as a job: ways for boundary features to travel, and what each costs an epoch.

Bytes follow from the partition alone (:mod:`offramp.switchgnn.volume`); computation, and what overlaps with it, only a
calibration knows: the same training for a few epochs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any, Final

from offramp.cluster.model import Cluster, Host
from offramp.job.network import Way
from offramp.job.settings import JobSettings
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_base.settings.document import read_settings
from offramp_base.settings.error import SettingsError

RESULT: Final = "train.json"
_MOST_BYTES: Final = 64 << 20
OPTIONS: Final = {
    Way.P2P: ("--propagator", "p2p"),
    Way.G3: ("--propagator", "p2p", "--schedule", "g3"),
    Way.G3_SYLVIE: ("--propagator", "p2p", "--schedule", "g3", "--codec", "sylvie"),
}
"""Of ``offramp train``, by way."""
_LOSSY_BITS: Final = 8
"""The most that Sylvie's codec sends of a value: what a prediction may count on."""


def command_of(job: JobSettings, way: Way, ranks: int, folder: Path, epochs: int | None = None) -> JobSettings:
    """The job with the command of a way for so many ranks; its result goes into ``folder``."""
    assert job.train is not None
    words = [sys.executable, "-m", "offramp", "train", "--settings", str(job.train.absolute()), *OPTIONS[way]]
    words += ["--workers", str(ranks), "--json", str(folder.absolute() / RESULT)]
    words += [] if epochs is None else ["--epochs", str(epochs)]
    return replace(job, command=tuple(words))


def epoch_s(folder: Path) -> float | None:
    """Seconds of an epoch on average, the first one left out; None where no result was written."""
    path = folder / RESULT
    if not path.is_file():
        return None
    rows = parse_json(read_text(path, _MOST_BYTES)).get("per_epoch", [])
    seconds = [float(row["seconds"]) for row in rows[1:] or rows]
    return mean(seconds) if seconds else None


def bytes_of_epoch(job: JobSettings, ranks: int) -> int:
    """What all workers send each other in an epoch of float32 features, headers included.

    Raises:
        OfframpError: settings or a graph that cannot be read, or too few vertices; with file and line.
    """
    from offramp.switchgnn.volume import host_volume
    from offramp.train.job import exchange_widths, layer_widths
    from offramp.train.planned import plan_run

    settings = train_settings(job, ranks)
    graph = settings.load()
    planned = plan_run(graph, settings)
    widths = exchange_widths(settings, layer_widths(graph, settings))
    return sum(host_volume(planned.boundary, width).wire_bytes for width in widths)


def train_settings(job: JobSettings, ranks: int) -> Any:
    """What the file of ``train`` says, for so many workers.

    Raises:
        OfframpError: names file, line and field.
    """
    from offramp.train.settings import TrainSettings

    assert job.train is not None
    given = read_settings(job.train, (TrainSettings,))
    values = {name: each.value for name, each in given.items()} | {"workers": ranks, "propagator": "p2p"}
    try:
        return TrainSettings(**values)
    except SettingsError as error:
        place = given[error.field].place if error.field in given else str(job.train)
        raise OfframpError(f"{place}: {error}") from None


def model_s(way: Way, job: JobSettings, cluster: Cluster, hosts: Sequence[Host], sent: int) -> float:
    """Seconds that an epoch's bytes keep a host's link busy, spread evenly.

    Raises:
        OfframpError: why this way cannot be taken.
    """
    if way is Way.G3_SYLVIE and not job.lossy:
        raise OfframpError("the job does not allow loss (lossy)")
    share = _LOSSY_BITS / 32 if way is Way.G3_SYLVIE else 1.0
    rates = [cluster.rate_bps(host.name) for host in hosts]
    if not all(rates):
        raise OfframpError(f"{cluster.origin}: expected a link of every host")
    return job.compute_s + share * sent / len(hosts) * 8 / min(rates)
