// SPDX-License-Identifier: Apache-2.0
// Faults of a frame from a MAC.
package ethernet_pkg;
  /* verilator lint_off UNUSEDPARAM */  // a design has no use for all of them
  localparam [2:0] NONE = 0;
  localparam [2:0] CORRUPT = 1;  // its check sequence, a byte or its preamble
  localparam [2:0] RUNT = 2;
  localparam [2:0] JUMBO = 3;
  localparam [2:0] OVERFLOW = 4;  // it came while the queue was full
  /* verilator lint_on UNUSEDPARAM */
endpackage
