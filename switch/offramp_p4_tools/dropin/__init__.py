# SPDX-License-Identifier: Apache-2.0
"""Replacements for the programs of bmv2 and p4c: their options, their run-time services, launchers of their names."""
