# SPDX-License-Identifier: Apache-2.0
"""Propagators: interchangeable ways of carrying boundary features between workers."""
