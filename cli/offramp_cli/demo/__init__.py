# SPDX-License-Identifier: Apache-2.0
"""``offramp demo``: one job in a laboratory of two racks."""
