"""Random SwitchGNN jobs over faults of every kind, fast enough for many: ``python -m switchgnn_soak --help``."""

from switchgnn_soak.jobs import SoakJob, job_of_leaves_and_spines, job_of_one_switch
from switchgnn_soak.soak import Soak
from switchgnn_soak.switches import SIZES, LeavesAndSpines, OneSwitch

__all__ = ["SIZES", "LeavesAndSpines", "OneSwitch", "Soak", "SoakJob", "job_of_leaves_and_spines", "job_of_one_switch"]
