# SPDX-License-Identifier: Apache-2.0
"""What programs expect of gloo holds with offloads: barriers, sources, types, strides, means, groups, messages."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
if shutil.which("g++") is None:
    pytest.skip("g++ is missing", allow_module_level=True)

import torch
import torch.distributed as dist

import torch_as_gloo
import torch_ranks
from offramp.torch import build, forms, gloo_threads, on_gloo
from offramp.torch.offload import CollectiveCall, CollectiveRequest
from offramp.workers.processes import run_workers

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    build.load()  # once for this machine and PyTorch: a minute


def run(work, item=None, ranks=2):
    heard = []
    return run_workers(work, [item] * ranks, heard.append), heard


def test_a_barrier_waits_for_offloaded_collectives_begun_before_it():
    _, heard = run(torch_as_gloo.barriers)
    assert heard == [[(0, False), (0, True)]] * 2


HERMOD = {"offloads": ["hermod"], "least": 1, "interface": "127.0.0.1"}
NETWORKS = pytest.mark.parametrize("settings", [None, torch_ranks.COUNTING], ids=["gloo", "offload"])


@NETWORKS
def test_tensors_of_any_strides_are_exchanged_by_their_elements(settings):
    wrong, heard = run(torch_as_gloo.strides, settings)
    assert (wrong, heard) == ([], [])


def test_gloo_sums_in_the_place_of_an_offload_whatever_the_strides_of_single_elements():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        for count in (1, 2):
            tensors = [torch.view_as_real(torch.full((2,), 3 + 4j)[::2]) for _ in range(count)]
            assert tensors[0].is_contiguous()
            assert tensors[0].stride() == (4, 1)
            request = CollectiveRequest(
                "all_reduce", "coalesced", torch.float32, "SUM", 8 * count, "", 1, backward=False
            )
            call = CollectiveCall(request, 1, tensors, [], [], [], -1, 0, None)
            on_gloo.start(dist.group.WORLD, call).result()
            assert [each.tolist() for each in tensors] == [[[3.0, 4.0]]] * count
    finally:
        dist.destroy_process_group()


@NETWORKS
def test_means_of_floats_and_integers(settings):
    results, _ = run(torch_as_gloo.means, settings)
    for dtype, mean in results.items():
        # Of two ranks: -7 and -6, 0 and 1, 7 and 8; integers towards zero.
        assert mean == ([-6.5, 0.5, 7.5] if "float" in dtype else [-6, 0, 7]), dtype


def test_without_a_compiler_strides_and_means_are_right_too():
    wrong, heard = run(torch_as_gloo.without_compiler)
    assert (wrong, heard) == ([], [])


@pytest.mark.parametrize("settings", [None, torch_ranks.COUNTING, HERMOD], ids=["gloo", "offload", "hermod"])
def test_messages_of_all_types_arrive_and_sums_that_gloo_lacks_are_refused_as_by_gloo(settings):
    _, heard = run(torch_as_gloo.types, settings)
    for rank, lines in heard:
        assert lines["messages"] == []
        names = ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64")
        for number, (_, line) in enumerate(zip(names, lines["sums"], strict=True), 1):
            assert line == f"all_reduce {number} on rank {rank} of group 0: Invalid scalar type"


@pytest.mark.parametrize("settings", [None, HERMOD], ids=["gloo", "hermod"])
def test_a_receive_without_a_source_takes_what_any_rank_sends(settings):
    results, _ = run(torch_as_gloo.any_source, settings, ranks=3)
    assert sorted(results) == [(rank, 10.0 * rank + number) for rank in (1, 2) for number in (1, 2)]


def test_a_message_waits_neither_for_other_ranks_nor_for_collectives_begun_before_it():
    _, heard = run(torch_as_gloo.before_others, ranks=3)
    assert sorted(heard) == [[1.0, 2.0, 3.0], [3.0], [3.0]]


def test_collectives_are_compared_apart_from_those_that_an_offload_carries_out():
    _, heard = run(torch_as_gloo.verified)
    assert heard == [[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]] * 2


def test_a_wait_for_an_offload_ends_with_the_group_s_timeout():
    (line, took), _ = run(torch_as_gloo.endless)
    assert line == "recv 2 on rank 0 of group 0: Timed out waiting 2000ms for the operation to complete"
    assert took > 2


def test_a_barrier_is_not_of_the_failures_before_it():
    _, heard = run(torch_as_gloo.barriers_behind_failures, ranks=3)
    assert heard == [[]] * 3


def test_means_of_complex_numbers_are_those_of_their_parts_in_every_layout():
    _, heard = run(torch_as_gloo.complex_means, ranks=3)
    assert heard == [True] * 3
    total = torch.complex(torch.arange(99.0), torch.arange(99.0) * 7)
    assert torch.equal(forms.mean(total, 3), torch.complex(total.real / 3, total.imag / 3))


@NETWORKS
def test_groups_of_the_same_ranks_know_nothing_of_those_before_them(settings):
    _, heard = run(torch_as_gloo.groups_again, settings, ranks=3)
    assert heard == [[]] * 3


def test_the_soak_of_sums_by_a_switch_runs(tmp_path):
    support = Path(torch_as_gloo.__file__).parent
    path = os.pathsep.join([str(support), *sys.path])
    command = [sys.executable, str(support / "torch_soak.py"), "--runs", "2", "--out", str(tmp_path / "soak.json")]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 of 2 runs")


@pytest.mark.slow  # its smallest size is in tests/support/programs.txt
def test_random_programs_end_on_offloads_as_on_gloo(tmp_path):
    support = Path(torch_as_gloo.__file__).parent
    path = os.pathsep.join([str(support), *sys.path])
    command = [sys.executable, str(support / "torch_random.py"), "--runs", "3", "--out", str(tmp_path / "random.json")]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    counts = "".join(f"{line}\n" for line in done.stdout.splitlines() if "now, in" in line)  # without and with deaths
    assert sum(map(int, re.findall(r"^(\d+) of \1 runs:", counts, re.MULTILINE))) == 3, done.stdout


@pytest.mark.parametrize(
    ("name", "call", "waits"),
    [
        ("pt_gloo_runloop", "202 0x7fc7a0f53990 0x189 0x0 0x0 0x0 0xffffffff 0x7ff 0x7fc", False),  # for work
        ("pt_gloo_runloop", "202 0x7fc7cef4e6f0 0x89 0x0 0x7fc7a0f52ce0 0x0 0xffffffff 0x7ff 0x7fc", True),  # the lock
        ("pt_gloo_runloop", "running", True),
        ("pt_gloo_runloop", "", False),  # it has ended
        ("gloo_tcp_loop", "running", False),
    ],
)
def test_an_end_waits_for_threads_of_gloo_that_are_not_idle(tmp_path, monkeypatch, name, call, waits):
    task = tmp_path / "17"
    task.mkdir()
    (task / "comm").write_text(name + "\n")
    (task / "syscall").write_text(call + "\n")
    monkeypatch.setattr(gloo_threads, "_TASKS", tmp_path)
    looks = []
    monkeypatch.setattr(gloo_threads.time, "sleep", lambda _: looks.append((task / "syscall").write_text("")))
    gloo_threads.wait_until_idle()
    assert bool(looks) == waits


LATE = """
import ctypes, os, sys, tempfile, time
from datetime import timedelta
import torch
import torch.distributed as dist
if sys.argv[1] == "repaired":
    import offramp.torch
go, gone = os.pipe()
store = dist.FileStore(sys.argv[2], 2)
rank = int(os.fork() > 0)
group = dist.ProcessGroupGloo(store, rank, 2, timedelta(seconds=20))
if rank == 0:
    os.read(go, 1)
    time.sleep(0.1)
    group.allreduce([torch.ones(3)]).wait()
    os._exit(0)
sys.setswitchinterval(1000)
group.allreduce([torch.ones(3)])  # now gloo's thread alone has the tensor
holding = ctypes.PyDLL(None)  # its calls keep the interpreter's lock
holding.write(gone, b"x", 1)
holding.usleep(500_000)  # meanwhile the sum ends, and its thread waits for the lock to let go of the tensor
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("repair", "status"), [("repaired", 0), pytest.param("none", -signal.SIGABRT, marks=pytest.mark.slow)]
)
def test_a_thread_of_gloo_with_a_tensor_at_the_interpreter_s_end_does_not_abort_it(tmp_path, repair, status):
    path = os.pathsep.join(each for each in sys.path if each)
    environment = os.environ | {"PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", LATE, repair, str(tmp_path / "store")]
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == status, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)  # two seconds each on a machine that does nothing else
def test_no_end_of_500_processes_that_have_used_gloo_aborts_or_hangs():
    program = Path(torch_as_gloo.__file__).with_name("torch_ends.py")
    path = os.pathsep.join([str(program.parent), *sys.path])
    command = [sys.executable, str(program), "--runs", "500"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pytorch_s_own_tests_pass_with_sums_in_the_switch():
    """Three of them; ``tests/support/torch_suite.py`` runs all, and with other offloads."""
    pytest.importorskip("expecttest", reason="PyTorch's tests need the package expecttest")
    program = Path(torch_as_gloo.__file__).with_name("torch_suite.py")
    names = ["=test_all_reduce_sum", "=test_all_reduce_sum_async", "=test_all_reduce_full_group_sum"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(program.parent), *sys.path])}
    words = [sys.executable, str(program), "allreduce", "--tests", *names]
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert '"of these pass": 3' in done.stdout
