# SPDX-License-Identifier: Apache-2.0
"""The options of ``offramp switch run``, as the settings that a switch gets."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_p4 import serve
from offramp_p4.settings import Settings
from offramp_p4.tm import QueueConfig
from offramp_p4.tm.settings import BUFFER_BYTES, TrafficSettings


def settings_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> Settings:
    """The switch that ``offramp switch run`` would serve."""
    seen_settings: list[Settings] = []

    def note(settings: Settings, _: Any) -> None:
        seen_settings.append(settings)
        raise OfframpError("taken")

    monkeypatch.setattr(serve, "run", note)
    done = CliRunner().invoke(app, ["switch", "run", "--no-p4", *words])
    assert isinstance(done.exception, OfframpError), done.output
    if not seen_settings:
        raise done.exception
    return seen_settings[0]


def test_without_options_there_is_no_traffic_manager() -> None:
    assert TrafficSettings().config() is None


def test_options_make_a_configuration_that_survives_the_way_to_a_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--priority-queues", "4", "--port-rate", "1=10mbit", "--port-rate", "1gbit", "--queue-weight", "0=3")
    more = ("--queue-buffer", "64KB", "--queue-packets", "9", "--ecn-threshold", "30KB")
    settings = settings_of(monkeypatch, *words, *more, "--recirculation-rate", "2gbit", "-i", "3@x", "-D", "A=1")
    manager = settings.tm
    assert manager is not None
    assert manager.buffer_bytes == BUFFER_BYTES
    assert (manager.ports[1].rate_bps, manager.default.rate_bps, manager.recirculation.rate_bps) == (
        10**7,
        10**9,
        2 * 10**9,
    )
    assert manager.default.queues == (QueueConfig(64_000, 9, 30_000, 3), *[QueueConfig(64_000, 9, 30_000)] * 3)
    assert (settings.ports, settings.defines) == ({3: "x"}, {"A": "1"})
    assert Settings.from_json(settings.to_json()) == settings
    assert Settings.from_json(Settings().to_json()) == Settings()


def test_sizes_without_a_unit_are_mebibytes_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(monkeypatch, "--max-message", "16", "--compile-memory", "2GB", "--register-memory", "8")
    assert (settings.max_message, settings.compile_memory, settings.register_memory) == (16 << 20, 2 * 10**9, 8 << 20)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port-rate", "1=ten"], "--port-rate 1=ten: expected a rate such as 10mbit, 2.5gbit or 64000"),
        (["--port-rate", "0.1bit"], "--port-rate 0.1bit: expected a rate such as 10mbit, 2.5gbit or 64000"),
        (["--port-rate", "x=1mbit"], "--port-rate x=1mbit: expected PORT=RATE or RATE, ports 0 to 510"),
        (["--port-rate", "511=1mbit"], "--port-rate 511=1mbit: expected PORT=RATE or RATE, ports 0 to 510"),
        (["--port-rate", "1mbit", "--port-rate", "2mbit"], "--port-rate: given twice: 1000000 and 2000000"),
        (["--queue-weight", "3"], "--queue-weight 3: expected QUEUE=WEIGHT, such as 0=3"),
        (["--queue-share", "x"], "--queue-share x: expected QUEUE=PERCENT, such as 0=5"),
        (["--queue-share", "8=1"], "share of queue 8: expected a queue of 0..7"),
        (["--queue-weight", "8=1"], "weight of queue 8: expected a queue of 0..7"),
        (["--queue-weight", "1=0"], "queue weight is 0: expected 1 up"),
        (["--priority-queues", "9"], "--priority-queues 9: expected 1 to 8"),
        (["--buffer", "much"], "--buffer much: expected a size such as 4MB, 512KiB or 4096"),
        (["--buffer", "0"], "--buffer 0: expected at least 1"),
        (["--queue-packets", "0"], "--queue-packets 0: expected at least 1"),
        (["--recirculation-rate", ""], "--recirculation-rate : expected a rate such as 10mbit, 2.5gbit or 64000"),
        (["-i", "1@a", "-i", "1@b"], "--interface: 1 is given twice: a and b"),
        (["-D", "1=2"], "--define 1=2: expected NAME or NAME=VALUE"),
        (["--max-message", "0"], "--max-message 0: expected 1MiB to 1GiB"),
        (["--compile-seconds", "nan"], "--compile-seconds nan: expected a finite number"),
        (["--log-console", "--log-file", "x"], "--log-console: expected without --log-file"),
    ],
)
def test_golden_errors(monkeypatch: pytest.MonkeyPatch, words: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as failure:
        settings_of(monkeypatch, *words)
    assert str(failure.value) == message
