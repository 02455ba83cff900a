# SPDX-License-Identifier: Apache-2.0
"""Clusters on one machine: a namespace for each host, rated links, embedded switches, agents (docs/lab.md)."""
