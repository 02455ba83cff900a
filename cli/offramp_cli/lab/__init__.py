# SPDX-License-Identifier: Apache-2.0
"""``offramp lab``: a cluster file as a laboratory on this machine."""
