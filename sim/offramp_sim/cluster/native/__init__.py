# SPDX-License-Identifier: Apache-2.0
"""The cluster in machine code: the same rules as :mod:`offramp_sim.cluster.engine`, for sizes that search needs."""
