# SPDX-License-Identifier: Apache-2.0
"""Engines that run jobs, each registered in :data:`offramp.job.engine.ENGINES`."""
