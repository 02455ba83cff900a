/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_PORTS_P4
#define OFFRAMP_PORTS_P4

// Ports of a switch, which have nine bits.
#define PORTS 512

#endif
