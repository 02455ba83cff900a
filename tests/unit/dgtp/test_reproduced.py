# SPDX-License-Identifier: Apache-2.0
"""The paper's experiments, small: what holds whatever volumes are assumed; and the documentation's example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from offramp.dgtp.draws import draw
from offramp.dgtp.setup_file import parse_setup
from offramp.dgtp.volume import peak_to_mean, with_peak_to_mean
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.setups import NAMES, make_job, make_setup, random_cluster, simulated_job
from offramp_sim.reproduce.catalogue import find


def test_bounds_hold_and_are_told():
    reproduced = find("dgtp/bounds")[0].reproduce(0.1, 3)
    for numbers in reproduced.data.values():
        for reached, promised, path in zip(numbers["ratio"], numbers["promised"], numbers["path"], strict=True):
            assert 1 <= reached <= promised
            assert path >= 1
    assert reproduced.panels[0].lines


@pytest.mark.full
def test_scheduling_gains_on_the_testbed_and_more_bandwidth_is_used():
    reproduced = find("dgtp/fig7")[0].reproduce(0.1, 0)
    rates = {line.what: float(line.ours.split()[0]) for line in reproduced.comparisons}
    for dataset in ("products", "reddit"):
        assert rates[f"{dataset}: mean rate, DGTP"] > 1.15 * rates[f"{dataset}: mean rate, DistDGL"]


@pytest.mark.slow
def test_table_three_is_in_the_paper_s_range():
    reproduced = find("dgtp/table3")[0].reproduce(0.3, 0)
    main = [line for line in reproduced.comparisons if line.published]
    assert len(main) == 4
    for line in main:
        assert 18 < float(line.ours.split()[0]) < 36


def test_setups_have_the_paper_s_sizes():
    for name in NAMES:
        problem = make_setup(name, seed=1).problem
        kinds = [task.kind for task in problem.graph.tasks]
        machines = len(problem.cluster)
        expected = {"heterogeneous": 8, "simulated-products": 16, "simulated-papers100m": 20}.get(name, 6)
        assert kinds.count("worker") == expected
        assert kinds.count("store") == machines
    job, machines = simulated_job("papers100m")
    first, refused = random_cluster(machines, job, 4)
    again, _ = random_cluster(machines, job, 4)
    assert first == again
    assert refused >= 0
    with pytest.raises(OfframpError, match="data set cora: expected one of products, reddit, papers100m"):
        make_job("cora", 1, 1, "ps")


def test_volumes_of_a_wanted_peak():
    problem = make_setup("testbed-products-ps").problem
    drawn = draw(problem.graph, 20, 0)
    stores = problem.source < 4
    assert (draw(problem.graph, 30, 0)[:20] == drawn).all()
    for wanted in (1.05, 1.5, 3.0):
        spread = with_peak_to_mean(drawn, stores, wanted)
        assert peak_to_mean(spread, stores) == pytest.approx(wanted, rel=1e-6)
        assert spread[:, stores].mean() == pytest.approx(drawn[:, stores].mean())
        assert (spread[:, ~stores] == drawn[:, ~stores]).all()
    with pytest.raises(OfframpError, match=r"peak to mean 0\.5: expected at least 1"):
        with_peak_to_mean(drawn, stores, 0.5)


def test_the_documentation_s_example_is_a_setup():
    page = (Path(__file__).parents[3] / "docs" / "placement.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    setup = parse_setup(example)
    assert setup.iterations == 985
    assert len(setup.problem.cluster) == 4
