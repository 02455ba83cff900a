# SPDX-License-Identifier: Apache-2.0
"""The cluster in machine code: the same rules as :mod:`offramp_sim.dgtp.engine`, at the sizes that a search needs."""
