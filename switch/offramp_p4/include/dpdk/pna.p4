/* SPDX-License-Identifier: Apache-2.0 */
/* The Portable NIC Architecture as DPDK has it. */
#include "../pna.p4"
