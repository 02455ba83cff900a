# SPDX-License-Identifier: Apache-2.0
"""Jobs as files of other programs, each registered in :data:`offramp.job.export.JOB_FORMATS`."""
