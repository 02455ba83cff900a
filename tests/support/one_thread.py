# SPDX-License-Identifier: Apache-2.0
"""PyTorch computes in one thread where workers are threads themselves: more of them only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def one_compute_thread() -> Iterator[None]:
    import torch  # a conftest of a machine without PyTorch imports this file

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
