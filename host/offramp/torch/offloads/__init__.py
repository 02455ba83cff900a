# SPDX-License-Identifier: Apache-2.0
"""The offloads that ship with Offramp, one per file."""
