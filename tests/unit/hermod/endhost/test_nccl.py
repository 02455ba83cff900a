# SPDX-License-Identifier: Apache-2.0
"""Settings for NCCL, as text, since there is no GPU here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

dist = pytest.importorskip("torch.distributed")

from offramp.hermod.endhost import Priorities  # noqa: E402
from offramp.hermod.endhost.nccl import nccl_environment, nccl_options  # noqa: E402
from offramp.hermod.factors import CType, Factors  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402

JOB = Priorities.of_job(8, 32)
EP = JOB.mark(Factors(0, CType.EP, 0))


def test_variables_of_a_process():
    assert nccl_environment(EP, JOB.control) == {"NCCL_IB_TC": "252", "NCCL_IB_FIFO_TC": "192"}
    assert nccl_environment(JOB.mark(Factors(7, CType.DP, 0)), JOB.control)["NCCL_IB_TC"] == "12"


def test_options_of_a_communicator(monkeypatch):
    config = SimpleNamespace(traffic_class=None)
    nccl = SimpleNamespace(Options=lambda: SimpleNamespace(config=config))
    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)
    monkeypatch.setattr(dist, "ProcessGroupNCCL", nccl, raising=False)
    assert nccl_options(EP, {}).config.traffic_class == 252
    with pytest.raises(OfframpError, match="NCCL_IB_TC is set and overrules"):
        nccl_options(EP, {"NCCL_IB_TC": "0"})
    del config.traffic_class
    with pytest.raises(OfframpError, match="takes no traffic class"):
        nccl_options(EP, {})
    monkeypatch.setattr(dist, "is_nccl_available", lambda: False)
    with pytest.raises(OfframpError, match="has no NCCL"):
        nccl_options(EP, {})
