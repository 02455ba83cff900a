/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_PASSES_P4
#define OFFRAMP_PASSES_P4

// The list of metadata fields that live from one pass of a packet to its next.
#define PASS_FIELDS 1

#endif
