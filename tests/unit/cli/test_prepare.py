# SPDX-License-Identifier: Apache-2.0
"""What an installation compiles ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_cli import prepare

if TYPE_CHECKING:
    import pytest


def test_what_cannot_be_compiled_is_said_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def fail() -> Any:
        raise OfframpError("needs g++")

    monkeypatch.setattr(prepare, "PARTS", {"the first": fail, "the second": lambda: done.append("second")})
    prepare.main()
    assert done == ["second"]
    assert capsys.readouterr().err == "the first is not compiled yet: needs g++\n"
