# SPDX-License-Identifier: Apache-2.0
"""Themis (Rashidi et al., ISCA 2022): collectives over several dimensions, each chunk in an order of its own."""
