# SPDX-License-Identifier: Apache-2.0
"""A laboratory in network namespaces for all tests of this folder, and the model of a run that nothing disturbs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import namespaces
from cluster_case import LIMIT_S, RACKS, Racks, model_of, offramp, run_words, train_job
from offramp_sim.lab.start import held


@pytest.fixture(scope="session")
def racks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Racks]:
    namespaces.require()
    folder = tmp_path_factory.mktemp("racks")
    (folder / "cluster.yaml").write_text(RACKS.format(name=f"racks-{os.getpid()}"))
    with held(folder / "cluster.yaml", mode="root") as (lab, _):
        cluster = lab.cluster()
        keepers = {host.name: int(host.reach.partition(":")[2].split(".")[0]) for host in cluster.hosts}
        yield Racks(cluster, lab.cluster_file, keepers)


@pytest.fixture(scope="session")
def undisturbed(racks: Racks, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The model of a run by the laboratory itself, which nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    train_job(folder)
    process = offramp([], folder, {}, *run_words(str(racks.file)))
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, out + err
    return model_of(folder / "out/switchgnn")
