# SPDX-License-Identifier: Apache-2.0
"""Canonical codes of calls, against those of gRPC's own library."""

from __future__ import annotations

import grpc
import pytest

from offramp_base.p4rt.status import Code, RpcError, code_of


def test_codes_are_those_of_grpc() -> None:
    assert {name: code.value for name, code in Code.__members__.items()} == {
        code.name: code.value[0] for code in grpc.StatusCode
    }


@pytest.mark.parametrize("number", [-1, 17, 1000])
def test_unassigned_numbers_are_unknown(number: int) -> None:
    assert code_of(number) is Code.UNKNOWN
    assert code_of(16) is Code.UNAUTHENTICATED


def test_an_error_says_its_code_unless_nobody_answered() -> None:
    refused = RpcError(Code.NOT_FOUND, "table 7", ["one"])
    assert (str(refused), refused.message, refused.errors) == ("NOT_FOUND: table 7", "table 7", ["one"])
    assert str(RpcError(Code.UNAVAILABLE, "switch x: does not answer")) == "switch x: does not answer"
