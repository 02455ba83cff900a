# SPDX-License-Identifier: Apache-2.0
"""The DAG of a job of many replicas as arrays: what :mod:`offramp.hermod.build` makes of objects."""
