# SPDX-License-Identifier: Apache-2.0
"""The GPU device on its stand-in, the processor: batches, bits, a user's functions in PyTorch and in Triton.

``tests/conformance/leo`` has what every device must do; the marker ``gpu`` there runs it on CUDA. Blind to what only a
GPU does: pinned copies, its own rounding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from offramp.device import Completion, Status
from offramp.leo.devices import open_device
from offramp.leo.devices.code import load_code
from offramp.leo.functions import reduce
from offramp.leo.functions.registry import FUNCTIONS
from offramp.leo.gpu import GPU_FUNCTIONS, GpuFunction
from offramp_base.errors import OfframpError
from offramp_cli.app import app

pytest.importorskip("torch")


def finish(device, count: int) -> dict[int, Completion]:
    completions: dict[int, Completion] = {}
    limit = time.monotonic() + 60
    while len(completions) < count:
        completions |= {each.request: each for each in device.poll()}
        assert time.monotonic() < limit
        time.sleep(1e-4)
    return completions


def ask(device, function: str, messages: list[bytes]) -> list[tuple[Status, bytes]]:
    """Answers in the order of the messages."""
    completions = {}
    for begin in range(0, len(messages), device.depth):
        some = messages[begin : begin + device.depth]
        for number, message in enumerate(some, begin):
            assert device.submit(function, number, message)
        completions |= finish(device, len(some))
    return [(completions[number].status, completions[number].message) for number in range(len(messages))]


@pytest.fixture
def device():
    opened = open_device("gpu:cpu,depth=32,batch=8")
    yield opened
    opened.close()


def awkward(rng: np.random.Generator) -> bytes:
    """A sum of any type, number and length, of any bits: NaNs, infinities, zeros of both signs, subnormal numbers."""
    kind = reduce.ElementType(int(rng.integers(4)))
    shape = int(rng.integers(1, 9)), int(rng.choice([0, 1, 2, 3, 17]))
    raw = rng.integers(0, 2**32, shape, np.uint32)
    special = np.array([0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFFFFFFF, 0x7FFFFFFF], np.uint32)
    raw = np.where(rng.random(shape) < 0.4, rng.choice(special, shape), raw)
    dtype = reduce.DTYPE[kind]
    vectors = (raw >> 16).astype(np.uint16) if dtype.itemsize == 2 else raw.view(dtype)
    return reduce.request(kind, vectors)


def test_sums_of_all_forms_mixed_with_what_is_no_request_are_the_models(device) -> None:
    rng = np.random.default_rng(5)
    messages = [awkward(rng) for _ in range(400)]
    for number in range(0, 400, 7):
        messages[number] = messages[number][: int(rng.integers(len(messages[number])))]
    expected = []
    for message in messages:
        try:
            expected.append((Status.OK, reduce.answer(message)))
        except OfframpError:
            expected.append((Status.BAD_LENGTH, b""))
    assert ask(device, reduce.NAME, messages) == expected
    assert sum(status is Status.OK for status, _ in expected) > 300


def test_what_has_come_together_is_one_launch(device, monkeypatch) -> None:
    sizes = []

    def slow(form, messages):
        sizes.append(len(messages))
        time.sleep(0.05)
        return messages

    monkeypatch.setitem(GPU_FUNCTIONS._things, "slow", GpuFunction(len, slow))
    messages = [bytes([number]) * 4 for number in range(24)]
    assert ask(device, "slow", messages) == [(Status.OK, message) for message in messages]
    assert sum(sizes) == 24
    assert max(sizes) == 8
    assert len(sizes) <= 24 // 2


TENSORS = '''
import torch


def {name}_turned(messages: torch.Tensor) -> torch.Tensor:
    """Bytes in the opposite order."""
    return messages.flip(1)


def {name}_wrong(messages: torch.Tensor) -> torch.Tensor:
    return messages.float()


def {name}_raises(messages: torch.Tensor) -> torch.Tensor:
    raise KeyError("nothing")
'''


def test_a_users_function_of_tensors_is_the_same_on_every_device(tmp_path: Path, device) -> None:
    (tmp_path / "turned.py").write_text(TENSORS.format(name="same"))
    assert load_code([tmp_path / "turned.py"]) == ("same_turned", "same_wrong", "same_raises")
    messages = [os.urandom(1 + number % 3) for number in range(50)]
    answers = ask(device, "same_turned", messages)
    assert answers == [(Status.OK, message[::-1]) for message in messages]
    assert answers == [(Status.OK, FUNCTIONS.get("same_turned").answer(message)) for message in messages]
    for bad in ("same_wrong", "same_raises"):
        assert ask(device, bad, messages[:3]) == [(Status.FAILED, b"")] * 3
        with pytest.raises(OfframpError, match=bad):
            FUNCTIONS.get(bad).answer(b"abc")
    assert ask(device, "same_turned", messages[:1]) == answers[:1]  # the device goes on


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("abacus", "device gpu: abacus: PyTorch has no such device here; gpu:cpu computes the same on the processor"),
        ("cpu,batch=0", "device gpu: batch 0: expected at least 1"),
        ("cpu,speed=1", "device gpu:cpu,speed=1: no option speed: expected on, depth, batch"),
    ],
)
def test_bad_options_are_one_line(options: str, line: str) -> None:
    with pytest.raises(OfframpError) as error:
        open_device(f"gpu:{options}")
    assert str(error.value) == line


APPLICATION = """
paths:
  - {id: cc, type: CPU-CPU}
  - {id: ca, type: CPU-Acc}
application:
  name: turn
  data:
    corpus: {file: corpus.txt}
  requests:
    TURN:
      messages: corpus
      dataflows: [[cc], [ca]]
      size: {cc: {req: 64, resp: 64}, ca: {req: 64, resp: 64}}
      compute_us: {responder: {cpu: 30, acc: 20}}
      functions: {responder: {cpu: app_turned, acc: app_turned}}
"""


@pytest.mark.full
def test_an_application_runs_over_processor_and_gpu_and_every_answer_is_compared(tmp_path: Path) -> None:
    (tmp_path / "turn.yaml").write_text(APPLICATION)
    (tmp_path / "turned.py").write_text(TENSORS.format(name="app"))
    (tmp_path / "corpus.txt").write_text("the quick brown fox jumps over the lazy dog " * 40)
    words = [str(tmp_path / "turn.yaml"), "off-path", "--code", str(tmp_path / "turned.py"), "--device", "acc=gpu:cpu"]
    report = tmp_path / "run.json"
    result = CliRunner().invoke(app, ["leo", "run", *words, "--seconds", "0.2", "--rounds", "1", "--json", str(report)])
    assert result.exit_code == 0, (result.output, result.exception)
    rows = json.loads(report.read_text())["rows"]
    assert all(row["wrong"] == 0 for row in rows)
    assert {tuple(row["paths"]) for row in rows} >= {("cc",), ("ca",)}


TRITON = '''
import torch
import triton
import triton.language as tl


@triton.jit
def _increment(source, sink, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sink + at, tl.load(source + at, mask=at < n) + 1, mask=at < n)


def incremented(messages: torch.Tensor) -> torch.Tensor:
    """Each byte one more, modulo 256."""
    messages = messages.contiguous()
    found = torch.empty_like(messages)
    _increment[(triton.cdiv(messages.numel(), 64),)](messages, found, messages.numel(), BLOCK=64)
    return found
'''
PROGRAM = """
import sys
from offramp.leo.devices import open_device
from offramp.leo.devices.code import load_code

load_code([sys.argv[1]])
device = open_device("gpu:cpu")
for number in range(20):
    device.submit("incremented", number, bytes([number, 255]) * 50)
found = {}
while len(found) < 20:
    found |= {each.request: each.message for each in device.poll()}
device.close()
assert found == {number: bytes([number + 1, 0]) * 50 for number in range(20)}
"""


@pytest.mark.full
def test_a_triton_kernel_runs_in_its_interpreter(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    (tmp_path / "kernel.py").write_text(TRITON)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, tmp_path / "program.py", tmp_path / "kernel.py"]
    done = subprocess.run(
        command, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
