# SPDX-License-Identifier: Apache-2.0
"""What this machine's links and functions take: the performance part of a configuration (specification section 1.3)."""
