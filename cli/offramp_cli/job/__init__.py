# SPDX-License-Identifier: Apache-2.0
"""``offramp job``: plan, run and watch a job on a cluster."""
