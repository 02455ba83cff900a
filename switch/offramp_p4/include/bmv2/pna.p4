/* SPDX-License-Identifier: Apache-2.0 */
/* The Portable NIC Architecture as bmv2's pna_nic has it: without a pre-control. */
#define _PNA_BMV2
#include "../pna.p4"
