# SPDX-License-Identifier: Apache-2.0
"""Codecs, which encode feature vectors in messages between workers."""
