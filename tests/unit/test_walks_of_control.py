# SPDX-License-Identifier: Apache-2.0
"""A priority and a request take the straight path (docs/ARCHITECTURE.md): the walks do not grow beyond these goals."""

from __future__ import annotations

from walk import priority, request

CHANGES_OF_A_PRIORITY = 60
FILES_OF_A_REQUEST = 8


def test_a_priority_is_loaded_planned_and_applied_in_few_changes_of_file() -> None:
    changes = priority.walks()["priority"].changes
    assert 0 < changes <= CHANGES_OF_A_PRIORITY


def test_a_request_touches_few_files_on_each_side() -> None:
    files = {side: len(walk.files) for side, walk in request.walks().items()}
    assert files.keys() == {"requester", "responder"}
    assert all(0 < count <= FILES_OF_A_REQUEST for count in files.values()), files
