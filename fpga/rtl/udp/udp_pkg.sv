// SPDX-License-Identifier: Apache-2.0
// Written by ci/formats: change it there.
package udp_pkg;
  /* verilator lint_off UNUSEDPARAM */  // a design has no use for all of them
  // What a message begins with (offramp.fpga.udp).
  localparam [15:0] MAGIC = 20294;
  localparam [15:0] PORT = 20294;
  // Bytes of an engine's packet in a message.
  localparam [15:0] MOST_PACKET = 1440;
  // Kinds of messages.
  localparam [7:0] OPEN = 1;
  localparam [7:0] CLOSE = 2;
  localparam [7:0] REQUEST = 3;
  // Outcomes of messages.
  localparam [7:0] DONE = 0;
  localparam [7:0] BUSY = 1;
  localparam [7:0] NO_SESSION = 2;
  // Where packets of requests go, and answers come from.
  localparam [2:0] KVS = 0;
  localparam [2:0] REDUCE = 1;
  localparam [2:0] CONTROL = 2;
  localparam [2:0] EBS = 3;
  localparam [2:0] QUANTISE = 4;
  localparam [2:0] DEQUANTISE = 5;
  // What is counted.
  localparam [3:0] ACCEPTED = 0;
  localparam [3:0] CORRUPT = 1;
  localparam [3:0] RUNT = 2;
  localparam [3:0] JUMBO = 3;
  localparam [3:0] OVERFLOW = 4;
  localparam [3:0] MISADDRESSED = 5;
  localparam [3:0] UNKNOWN = 6;
  localparam [3:0] FRAGMENT = 7;
  localparam [3:0] BAD_HEADER = 8;
  localparam [3:0] BAD_CHECKSUM = 9;
  localparam [3:0] MALFORMED = 10;
  localparam [3:0] STRANGER = 11;
  localparam [3:0] EXECUTED = 12;
  localparam [3:0] DUPLICATE = 13;
  localparam [3:0] STALE = 14;
  localparam [3:0] REPLIED = 15;
  // Number of counters.
  localparam [4:0] COUNTERS = 16;
  /* verilator lint_on UNUSEDPARAM */
endpackage
