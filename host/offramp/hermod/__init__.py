# SPDX-License-Identifier: Apache-2.0
"""Hermod: coflow priorities from the training DAG, and matchings within a coflow (Wan's thesis, chapter 5)."""
