// SPDX-License-Identifier: Apache-2.0
// Written by ci/formats: change it there.
package device_pkg;
  /* verilator lint_off UNUSEDPARAM */  // a design has no use for all of them
  // How requests end (offramp.device).
  localparam [7:0] OK = 0;
  localparam [7:0] UNKNOWN_FUNCTION = 1;
  localparam [7:0] BAD_LENGTH = 2;
  localparam [7:0] OUT_OF_BOUNDS = 3;
  localparam [7:0] ABORTED = 4;
  localparam [7:0] FAILED = 5;
  // How ebs.lookup ends (offramp.leo.functions.ebs).
  localparam [2:0] FOUND = 0;
  localparam [2:0] NO_VOLUME = 1;
  localparam [2:0] OUT_OF_RANGE = 2;
  localparam [2:0] SPLIT = 3;
  localparam [2:0] UNMAPPED = 4;
  localparam [2:0] WAIT = 5;
  // Types of elements (offramp.leo.functions.reduce).
  localparam [1:0] FIXED = 1;
  localparam [1:0] FLOAT32 = 2;
  localparam [1:0] BFLOAT16 = 3;
  /* verilator lint_on UNUSEDPARAM */
endpackage
