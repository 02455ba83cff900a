# SPDX-License-Identifier: Apache-2.0
"""The result of a run as a file in its folder, from which a command elsewhere reads it: ``run.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from offramp.cluster.model import Cluster
from offramp.job.run import JobRunResult
from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

RUN: Final = "run.json"


def save_run(result: JobRunResult, folder: Path) -> None:
    """Write the file."""
    links = {f"{cable.a} {cable.b}": list(moved) for cable, moved in result.links.items()}
    document = {
        "seconds": result.seconds,
        "attempts": result.attempts,
        "bytes_by_link": {name: list(pair) for name, pair in result.bytes_by_link.items()},
        "steps": result.steps,
        "links": links,
        "begun_ns": result.begun_ns,
        "others": result.others,
        "without": result.without,
    }
    write_text(folder / RUN, json.dumps(document) + "\n")


def read_run(folder: Path, cluster: Cluster) -> JobRunResult:
    """The result in a folder, with links of this cluster.

    Raises:
        OfframpError: there is none, or it is not of this version.
    """
    path = folder / RUN
    document: Mapping[str, Any] = parse_json(read_text(path))
    try:
        links = {f"{cable.a} {cable.b}": cable for cable in cluster.links}
        return JobRunResult(
            float(document["seconds"]),
            int(document["attempts"]),
            {str(name): (int(a), int(b)) for name, (a, b) in document["bytes_by_link"].items()},
            [str(each) for each in document["steps"]],
            {links[name]: (int(a), int(b)) for name, (a, b) in document["links"].items() if name in links},
            document["begun_ns"],
            document["others"],
            str(document["without"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OfframpError(f"{path}: expected the result of a run: {error}") from None
