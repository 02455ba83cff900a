// SPDX-License-Identifier: Apache-2.0
// Written by ci/formats: change it there.
package switchgnn_pkg;
  /* verilator lint_off UNUSEDPARAM */  // a design has no use for all of them
  // In packets (offramp.switchgnn.wire).
  localparam [7:0] IP_PROTOCOL = 253;
  // No vertex and no host.
  localparam [31:0] NO_ID = 4294967295;
  // Bytes of a frame without lanes, and with them.
  localparam [10:0] HEADER_BYTES = 50;
  localparam [10:0] FRAME_BYTES = 178;
  // What a packet came to (offramp.switchgnn.telemetry), and uploads that were let in.
  localparam [4:0] FOREIGN = 0;
  localparam [4:0] MALFORMED = 1;
  localparam [4:0] STALE = 2;
  localparam [4:0] DUPLICATE = 3;
  localparam [4:0] UNKNOWN = 4;
  localparam [4:0] OPENED = 5;
  localparam [4:0] ADDED = 6;
  localparam [4:0] COMPLETED = 7;
  localparam [4:0] DELIVERED = 8;
  localparam [4:0] RAW = 9;
  localparam [4:0] SHARED = 10;
  localparam [4:0] DONE = 11;
  localparam [4:0] DONE_REPEATED = 12;
  localparam [4:0] GO = 13;
  localparam [4:0] GO_REPEATED = 14;
  localparam [4:0] WAITING = 15;
  localparam [4:0] RELEASED = 16;
  localparam [4:0] FETCHED = 17;
  localparam [4:0] RESENT = 18;
  localparam [4:0] ACKNOWLEDGED = 19;
  localparam [4:0] RELAYED = 20;
  localparam [4:0] RESUMED = 21;
  localparam [4:0] STRANGER = 22;
  localparam [4:0] HARVESTED = 23;
  localparam [4:0] UPLOADS = 24;
  /* verilator lint_on UNUSEDPARAM */
endpackage
