# SPDX-License-Identifier: Apache-2.0
"""Hermod on the embedded switch: its plans, and a job's coflows packet by packet in virtual time."""
