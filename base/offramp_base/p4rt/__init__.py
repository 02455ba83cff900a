# SPDX-License-Identifier: Apache-2.0
"""P4Runtime: the wire layer (no generated code) and a client that speaks names instead of ids."""
