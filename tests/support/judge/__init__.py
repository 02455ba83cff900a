# SPDX-License-Identifier: Apache-2.0
"""p4c, bmv2 and the Tofino back end as judges of the switch: what they say of the same programs, in one table."""
