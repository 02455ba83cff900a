# SPDX-License-Identifier: Apache-2.0
"""Training on neighbours' rows: every worker computes its vertices in bins, as the rows that they need arrive."""
