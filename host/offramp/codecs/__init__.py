# SPDX-License-Identifier: Apache-2.0
"""How feature vectors are written into messages between workers."""
