# SPDX-License-Identifier: Apache-2.0
"""The DAG of a job of many replicas without an object for each task: what :mod:`offramp.hermod.build` makes, as arrays."""
