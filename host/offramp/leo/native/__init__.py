# SPDX-License-Identifier: Apache-2.0
"""LEO's compiled part: rings, the request state table, the loops of both sides, and the functions that they call.

Everything here is plain memory and compiled functions; sockets, processes and devices are built on top of it.
"""
