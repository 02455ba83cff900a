# SPDX-License-Identifier: Apache-2.0
"""Control of P4 switches: P4Runtime sessions and what to write into each pipeline."""
