# SPDX-License-Identifier: Apache-2.0
"""What all Offramp packages stand on: errors, documents, listening, ending, compiled Python, packets and transports."""

__version__ = "0.1.0"
