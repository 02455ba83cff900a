# SPDX-License-Identifier: Apache-2.0
"""Exchanges of boundary features between the hosts of a laboratory, one after another, timed."""
