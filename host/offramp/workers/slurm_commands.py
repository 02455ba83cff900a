# SPDX-License-Identifier: Apache-2.0
"""Questions to Slurm's commands."""

from __future__ import annotations

import re
import subprocess
from typing import Final

from offramp_base.arguments import visible
from offramp_base.errors import OfframpError

_TIMEOUT_S: Final = 60.0
_PAIR: Final = re.compile(r"(?:^|\s)([A-Za-z][\w/:]*)=(\S*)")


def job_row(number: str) -> dict[str, str]:
    """What the controller knows of a job, by the names of ``scontrol show job``.

    Raises:
        OfframpError: it does not answer, or has forgotten the job.
    """
    return dict(_PAIR.findall(said("scontrol", "--oneliner", "show", "job", number)))


def said(*words: str) -> str:
    """What one of Slurm's commands prints.

    Raises:
        OfframpError: it has failed; its words.
    """
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OfframpError(f"{words[0]}: {error}") from None
    if done.returncode:
        raise OfframpError(f"{words[0]}: {visible(' '.join(done.stderr.split())[:300]) or 'failed'}")
    return done.stdout
