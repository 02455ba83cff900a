# SPDX-License-Identifier: Apache-2.0
"""A plan on a SONiC switch, as tables of its CONFIG_DB."""
