# SPDX-License-Identifier: Apache-2.0
"""Kinds of jobs, a module each (:mod:`offramp.job.kind`)."""
