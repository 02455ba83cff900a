# SPDX-License-Identifier: Apache-2.0
"""All-reduce through embedded switches without sockets, in lockstep: for tests and campaigns."""
