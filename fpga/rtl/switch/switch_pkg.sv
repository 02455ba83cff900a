// SPDX-License-Identifier: Apache-2.0
// Written by ci/formats: change it there.
package switch_pkg;
  /* verilator lint_off UNUSEDPARAM */  // a design has no use for all of them
  // The switch, and what the numbers of hosts are added to (offramp.switch_packets).
  localparam [47:0] SWITCH_MAC = 48'd2199023321086;
  localparam [47:0] HOSTS_MAC = 48'd2199023255552;
  // The switch's IP address.
  localparam [31:0] SWITCH_IP = 167837694;
  /* verilator lint_on UNUSEDPARAM */
endpackage
