# SPDX-License-Identifier: Apache-2.0
"""STF programs of this repository that bmv2's JSON cannot express, and what the refusal names."""

REFUSED = {
    "arrays": "an index out of range",
    "empty_stacks": "known at run time only",
    "object_arrays": "extern Checksum16.get",
    "widths": "a variable of type bit<0>",
}
