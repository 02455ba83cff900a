# SPDX-License-Identifier: Apache-2.0
"""Themis (Rashidi et al., ISCA 2022): collectives over several dimensions, with a separate order for each chunk."""
