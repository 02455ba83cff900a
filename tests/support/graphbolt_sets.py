# SPDX-License-Identifier: Apache-2.0
"""A GraphBolt data set on disk, as users of DGL 2.1 write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

VERTICES, EDGES, WIDTH, CLASSES = 20, 70, 3, 4


def metadata(form: str) -> dict[str, Any]:
    """The content of ``metadata.yaml`` with edges in ``numpy`` or ``csv``."""
    split = {
        f"{name}_set": [
            {
                "data": [
                    {"name": "seed_nodes", "format": "numpy", "path": f"{name}-ids.npy"},
                    {"name": "labels", "format": "numpy", "path": f"{name}-labels.npy"},
                ]
            }
        ]
        for name in ("train", "validation", "test")
    }
    return {
        "dataset_name": "by hand",
        "graph": {
            "nodes": [{"num": VERTICES}],
            "edges": [{"format": form, "path": f"edges.{'npy' if form == 'numpy' else 'csv'}"}],
            "feature_data": [{"domain": "edge", "name": "w", "format": "numpy", "path": "w.npy"}],
        },
        "feature_data": [{"domain": "node", "name": "feat", "format": "numpy", "path": "feat.npy"}],
        "tasks": [{"name": "node_classification", "num_classes": CLASSES, **split}],
    }


def write_set(folder: Path, form: str) -> dict[str, Any]:
    """Write a set; returns its arrays."""
    rng = np.random.default_rng(2)
    folder.mkdir()
    order = rng.permutation(VERTICES)
    arrays = {
        "edges": rng.integers(0, VERTICES, (2, EDGES)),
        "feat": rng.normal(size=(VERTICES, WIDTH)).astype(np.float32),
        "w": rng.normal(size=(EDGES, 2)).astype(np.float32),
        "labels": rng.integers(0, CLASSES, VERTICES),
        "train": order[:8],
        "validation": order[8:12],
        "test": order[12:15],
    }
    for name in ("feat", "w"):
        np.save(folder / f"{name}.npy", arrays[name])
    if form == "numpy":
        np.save(folder / "edges.npy", arrays["edges"])
    else:
        np.savetxt(folder / "edges.csv", arrays["edges"].T, fmt="%d", delimiter=",")
    for name in ("train", "validation", "test"):
        np.save(folder / f"{name}-ids.npy", arrays[name])
        np.save(folder / f"{name}-labels.npy", arrays["labels"][arrays[name]])
    (folder / "metadata.yaml").write_text(yaml.safe_dump(metadata(form)))
    return arrays
