# SPDX-License-Identifier: Apache-2.0
"""Writes of a card's table that are carried out in any order leave the newest content.

Blind spot: whoever sends them; ``fpga/udp`` drives a card over a wire that loses and reorders.
"""

import random

from offramp.fpga.packets import LINE, LINES
from offramp.leo.devices.fpga_table import TableWrites


def test_a_new_table_is_written_whole_in_packets_of_lines_in_a_row():
    table = TableWrites(2 * LINES + 3)
    taken = []
    while packet := table.take():
        taken.append(packet)
    assert [lines for lines, _ in taken] == [range(LINES), range(LINES, 2 * LINES), range(2 * LINES, 2 * LINES + 3)]
    assert all(content == bytes(LINE * len(lines)) for lines, content in taken)
    assert not table.idle
    for lines, _ in taken:
        table.written(lines)
    assert table.idle


def test_a_line_waits_for_its_own_answer_and_then_has_its_newest_content():
    table = TableWrites(4)
    table.written(table.take()[0])
    table.write(LINE, b"old")
    first, _ = table.take()
    table.write(LINE, b"new")
    table.write(2 * LINE - 1, b"!?")  # across two lines
    assert table.take() == (range(2, 3), b"?".ljust(LINE, b"\0"))
    assert table.take() is None
    table.written(first)
    assert table.take() == (range(1, 2), b"new".ljust(LINE - 1, b"\0") + b"!")


def test_in_whatever_order_writes_are_carried_out_the_card_has_the_table():
    dice, lines = random.Random(5), 50
    table, card, wanted, under_way = TableWrites(lines), bytearray(lines * LINE), bytearray(lines * LINE), []
    for step in range(5000):
        if step < 4000 and dice.random() < 0.4:
            at, content = dice.randrange(lines * LINE - 200), dice.randbytes(dice.randint(1, 200))
            wanted[at : at + len(content)] = content
            table.write(at, content)
        if len(under_way) < 8 and (taken := table.take()):
            under_way.append(taken)
        if under_way and dice.random() < 0.6:
            rows, content = under_way.pop(dice.randrange(len(under_way)))
            card[rows.start * LINE : rows.stop * LINE] = content
            table.written(rows)
    assert table.idle
    assert card == wanted
