# SPDX-License-Identifier: Apache-2.0
"""Measurements of the smartNIC's agent against ends of links that answer at once."""
