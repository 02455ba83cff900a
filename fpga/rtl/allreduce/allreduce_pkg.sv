// SPDX-License-Identifier: Apache-2.0
// Written by ci/formats: change it there.
package allreduce_pkg;
  /* verilator lint_off UNUSEDPARAM */  // a design has no use for all of them
  // In packets (offramp.allreduce.wire).
  localparam [7:0] IP_PROTOCOL = 254;
  localparam [7:0] SWITCH_RANK = 255;
  // Kinds of packets.
  localparam [7:0] DATA = 0;
  localparam [7:0] AGAIN = 1;
  localparam [7:0] RESULT = 2;
  localparam [7:0] PULL = 3;
  // Bytes of a frame without lanes, and with them.
  localparam [10:0] HEADER_BYTES = 54;
  localparam [10:0] FRAME_BYTES = 310;
  // What a packet came to (offramp.allreduce.verdict).
  localparam [3:0] FOREIGN = 0;
  localparam [3:0] MALFORMED = 1;
  localparam [3:0] STRANGER = 2;
  localparam [3:0] STALE = 3;
  localparam [3:0] OPENED = 4;
  localparam [3:0] ADDED = 5;
  localparam [3:0] COMPLETED = 6;
  localparam [3:0] DUPLICATE = 7;
  localparam [3:0] REPEATED = 8;
  localparam [3:0] PULLED = 9;
  localparam [3:0] DESCENDED = 10;
  localparam [3:0] SUPERSEDED = 11;
  /* verilator lint_on UNUSEDPARAM */
endpackage
