/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_SIZES_P4
#define OFFRAMP_ALLREDUCE_SIZES_P4
// Each may be set with -D. A slot sums one chunk; the control plane gives jobs pages of 256 slots, at most 256 pages.
#ifndef PAGES
#define PAGES 16
#endif

#define SLOTS (PAGES * 256)

// Entries of sources: one for each port and page of a job.
#ifndef SOURCE_ENTRIES
#define SOURCE_ENTRIES 1024
#endif

// Segments of 256 bytes in a packet: 1, 4 or 32. One is what a Tofino adds up.
#ifndef SEGMENTS
#define SEGMENTS 1
#endif

#define PORTS 512

#endif
