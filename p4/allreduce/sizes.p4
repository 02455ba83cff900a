/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_SIZES_P4
#define OFFRAMP_ALLREDUCE_SIZES_P4
#include "../include/ports.p4"

// Each may be set with -D. A slot sums one chunk; the control plane gives jobs pages of 256 slots, at most 256 pages.
#ifndef PAGES
#define PAGES 16
#endif

#define SLOTS (PAGES * 256)

// Entries of sources: one for each port and page of a job.
#ifndef SOURCE_ENTRIES
#define SOURCE_ENTRIES 1024
#endif

// Segments of 256 bytes in a packet: 1, 4 or 32. One is what a Tofino adds up. A program that carries this system
// alone knows them as SEGMENTS.
#ifndef ALLREDUCE_SEGMENTS
#ifdef SEGMENTS
#define ALLREDUCE_SEGMENTS SEGMENTS
#else
#define ALLREDUCE_SEGMENTS 1
#endif
#endif

#endif
