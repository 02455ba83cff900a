/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_SIZES_P4
#define OFFRAMP_HERMOD_SIZES_P4
#include "../include/ports.p4"

// Entries of macs: one for each host. May be set with -D.
#ifndef MAC_ENTRIES
#define MAC_ENTRIES 4096
#endif

#define DSCPS 64

// Every DSCP, and frames without one.
#define CLASS_ENTRIES 65

#define PROFILES 8

// Cells of a counter by port (9 bits) and queue (3 bits).
#define PORT_QUEUES 4096

// Time-out of a closed gate, in ticks of about 64 microseconds: one second. May be set with -D.
#ifndef LEASE
#define LEASE 15625
#endif

#endif
