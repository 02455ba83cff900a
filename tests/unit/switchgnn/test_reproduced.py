# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's figures over time, at a small size."""

from __future__ import annotations

import pytest

from offramp_sim.reproduce.catalogue import find

pytestmark = pytest.mark.full


def test_loss_over_time_is_loss_over_epochs_stretched() -> None:
    reproduced = find("switchgnn/fig13")[0].reproduce(0.25, 0)
    fixed, exact = reproduced.data["loss"]["fixed"], reproduced.data["loss"]["fp32"]
    assert fixed == pytest.approx(exact, abs=1e-4)
    assert fixed != exact
    panel = reproduced.panels[0]
    (xs, _), epoch_s = panel.lines["switchgnn"], reproduced.data["epoch_s"][panel.title]["switchgnn"]
    assert xs[2] == pytest.approx(3 * epoch_s)


def test_shares_are_the_inverse_of_epochs() -> None:
    shares = find("switchgnn/fig14")[0].reproduce(0.25, 0).data
    times = find("switchgnn/fig13")[0].reproduce(0.25, 0).data["epoch_s"]["reddit"]
    at = shares["g3"][0].index("reddit")
    assert shares["g3"][1][at] / shares["bns-gcn"][1][at] == pytest.approx(times["bns-gcn"] / times["g3"])
    assert all(0 < share <= 100 for _, values in shares.values() for share in values)
