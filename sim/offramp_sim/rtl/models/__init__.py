# SPDX-License-Identifier: Apache-2.0
"""Surroundings of an engine in simulation: clock, streams, memory. Imported in the simulator's process."""
