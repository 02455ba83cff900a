# SPDX-License-Identifier: Apache-2.0
"""Sweeps as array jobs, with a sbatch that runs the tasks itself; ``tests/cluster`` has the real one."""

from __future__ import annotations

import os
import stat
from math import sqrt
from pathlib import Path

import pytest

from offramp.sweep import on_dask, sweep
from offramp.workers import slurm_array
from offramp.workers.slurm_array import each_in_array
from offramp_base.errors import OfframpError

SBATCH = """#!/bin/sh
printf '%s\\n' "$@" > asked
stat -c '%a' .offramp-sweep-* > mode
for word; do
    script=$word
    case $word in --array=0-*) last=${word#--array=0-} ;; --output=*) log=${word#--output=} ;; esac
done
for task in $(seq 0 "$last"); do
    export SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=$((last + 1))
    sh "$script" > "${log%\\%a.log}$task.log" 2>&1
done
echo "77;cluster"
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Slurm's commands, first in PATH."""
    (tmp_path / "bin").mkdir()
    texts = {"sbatch": SBATCH, "squeue": "#!/bin/sh\necho 12\n", "scancel": '#!/bin/sh\necho "$@" > cancelled\n'}
    for name, text in texts.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"bin", "asked", "mode"}


def test_cases_are_tasks_and_results_in_their_order(slurm, monkeypatch):
    monkeypatch.setattr(slurm_array, "MOST_TASKS", 2)  # so that a task has several cases
    with on_dask("slurm:--partition=cpu '--comment=a b'"):
        assert sweep(sqrt, [9, 4, 16, 1, 0]) == [3, 2, 4, 1, 0]
    asked = (slurm / "asked").read_text().splitlines()
    assert asked[:3] == ["--parsable", "--array=0-1", "--job-name=offramp-sweep"]
    assert asked[4:6] == ["--partition=cpu", "--comment=a b"]
    assert int((slurm / "mode").read_text(), 8) == stat.S_IRWXU
    assert left(slurm) == set()


def test_the_error_of_a_case_is_its_own_and_cancels_the_rest(slurm):
    with pytest.raises(ValueError, match="math domain error"):
        sweep(sqrt, [4, -1, 9], dask="slurm:")
    assert left(slurm) == {"cancelled"}
    assert (slurm / "cancelled").read_text() == "77\n"


def test_a_task_that_ends_without_a_result_is_said_with_its_last_words(slurm, monkeypatch):
    monkeypatch.setattr(slurm_array, "_LATE_S", 0.0)
    with pytest.raises(OfframpError, match=r"^Slurm job 77: case 0 ended without a result: out of cheese$"):
        list(each_in_array(_ends, ["out of cheese"], poll_s=0.01))
    assert left(slurm) == {"cancelled"}


def _ends(word: str) -> None:
    os.write(1, f"{word}\n".encode())
    os._exit(3)


def test_a_folder_that_others_may_write_is_not_unpickled(tmp_path):
    (tmp_path / "work.pickle").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    tmp_path.chmod(0o777)
    with pytest.raises(OfframpError):
        slurm_array.run_task(tmp_path, 0, 1)
    assert not Path("ran").exists()


def test_a_slurm_that_refuses_is_a_line(slurm):
    (slurm / "bin" / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: invalid partition' >&2; exit 1\n")
    with pytest.raises(OfframpError, match=r"^sbatch: sbatch: error: invalid partition$"):
        sweep(sqrt, [4], dask="slurm:")
    assert left(slurm) == set()
