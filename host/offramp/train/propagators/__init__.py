# SPDX-License-Identifier: Apache-2.0
"""Propagators: interchangeable transports of boundary features between workers."""
