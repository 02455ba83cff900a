# SPDX-License-Identifier: Apache-2.0
"""A package that adds one of each kind to Offramp, one file each; a test installs it beside Offramp's own."""
