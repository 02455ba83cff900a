# SPDX-License-Identifier: Apache-2.0
"""The common base of all Offramp packages: errors, documents, listening, ending, compiled Python, packets and links."""

__version__ = "0.1.0"
