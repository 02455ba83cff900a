# SPDX-License-Identifier: Apache-2.0
"""Scripts that start a plan: torchrun on each machine, or one Slurm job."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shlex import quote
from typing import Final

from offramp.dgtp.plan import PlacementPlan, ProcessRole
from offramp_base.arguments import host_name, label, word
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

_PORT: Final = 29500


def export(plan: PlacementPlan, folder: Path) -> list[Path]:
    """Write ``plan.json``, ``torchrun-MACHINE.sh`` each, ``slurm.sbatch`` with its hosts, and ``fair-queueing.sh``.

    Raises:
        OfframpError: the folder cannot be written to, or a name or an address is none of a machine.
    """
    by_machine: dict[str, list[ProcessRole]] = {}
    for role in plan.roles:
        _check(role)
        by_machine.setdefault(role.machine, []).append(role)
    files = {"plan.json": json.dumps(plan.as_json(), indent=2) + "\n"}
    for node, (name, roles) in enumerate(by_machine.items()):
        files[f"torchrun-{name}.sh"] = _torchrun(node, len(by_machine), roles, plan.roles[0].address)
    files["slurm.sbatch"] = _slurm(plan, list(by_machine))
    files["slurm.hosts"] = "".join(f"{role.machine}\n" for role in plan.roles)
    files["fair-queueing.sh"] = _fair_queueing()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with written(folder / name) as file:
                file.write(text.encode())
                if text.startswith("#!"):
                    os.fchmod(file.fileno(), 0o755)
    except OSError as error:
        raise SettingsError("export", f"cannot be written: {error.strerror}", str(folder)) from None
    return [folder / name for name in files]


def _check(role: ProcessRole) -> None:
    """Refuse a role whose texts a shell would read as more than words."""
    try:
        label(role.machine), word(role.kind), host_name(role.address)
    except ValueError as error:
        raise OfframpError(f"machine {role.machine} at {role.address}: {error}") from None


def _torchrun(node: int, nodes: int, roles: list[ProcessRole], master: str) -> str:
    return f"""#!/usr/bin/env bash
# Run on {roles[0].machine}: {", ".join(f"rank {r.rank} {r.kind} {r.index}" for r in roles)}.
# Usage: {{this script}} TRAINING_SCRIPT [ARGUMENTS]; offramp.dgtp.my_role() says what each process is.
set -euo pipefail
OFFRAMP_PLAN=${{OFFRAMP_PLAN:-$(cd "$(dirname "$0")" && pwd)/plan.json}}
export OFFRAMP_PLAN
exec torchrun --nnodes={nodes} --node-rank={node} --nproc-per-node={len(roles)} \\
    --master-addr="${{MASTER_ADDR:-{master}}}" --master-port="${{MASTER_PORT:-{_PORT}}}" "$@"
"""


def _slurm(plan: PlacementPlan, machines: list[str]) -> str:
    return f"""#!/usr/bin/env bash
#SBATCH --job-name=offramp
#SBATCH --nodes={len(machines)}
#SBATCH --ntasks={len(plan.roles)}
#SBATCH --nodelist={",".join(machines)}
#SBATCH --distribution=arbitrary
# Usage: sbatch slurm.sbatch TRAINING_SCRIPT [ARGUMENTS], in the folder of this file.
# Rank r runs on line r + 1 of slurm.hosts; offramp.dgtp.my_role() says what each process is.
set -euo pipefail
folder=${{SLURM_SUBMIT_DIR:-.}}
export SLURM_HOSTFILE=$folder/slurm.hosts OFFRAMP_PLAN=$folder/plan.json
export MASTER_ADDR={quote(plan.roles[0].address)} MASTER_PORT={_PORT} WORLD_SIZE={len(plan.roles)}
exec srun --distribution=arbitrary bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec python "$@"' task "$@"
"""


def _fair_queueing() -> str:
    return """#!/usr/bin/env bash
# Run as root on each machine: equal shares among flows, which online execution assumes (section VI-A: tc, SFQ).
# Usage: fair-queueing.sh INTERFACE
set -euo pipefail
exec tc qdisc replace dev "$1" root sfq perturb 10
"""
