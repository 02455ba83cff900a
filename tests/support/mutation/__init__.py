# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the protocol and state core with cosmic-ray's operators: ``python -m mutation --help``."""
