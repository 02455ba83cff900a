# SPDX-License-Identifier: Apache-2.0
"""Tables where a terminal is wide, and where it is not."""

from __future__ import annotations

import io

from rich.console import Console

from offramp_cli import show


def printed(width: int, **options: object) -> list[str]:
    table = show.table("name", "bytes", "time", title="Two ways", **options)  # type: ignore[arg-type]
    table.add_row("p2p", "1 000", "2.5 s")
    table.add_row("through the switch", "40", "12.25 s")
    file = io.StringIO()
    show.print_table(Console(file=file, width=width), table)
    return file.getvalue().splitlines()


def test_the_first_column_is_of_words_and_the_others_of_numbers() -> None:
    assert [line.rstrip() for line in printed(80)] == [
        "Two ways",
        "name                bytes     time",
        "p2p                 1 000    2.5 s",
        "through the switch     40  12.25 s",
    ]
    assert printed(80, left=["bytes"])[2].rstrip() == "               p2p  1 000    2.5 s"


def test_a_row_too_long_is_a_name_with_a_list_below() -> None:
    assert [line.rstrip().replace("\N{NO-BREAK SPACE}", " ") for line in printed(30)] == [
        "Two ways",
        "p2p",
        "    bytes 1 000, time 2.5 s",
        "through the switch",
        "    bytes 40, time 12.25 s",
    ]
