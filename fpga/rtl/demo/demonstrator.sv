// SPDX-License-Identifier: Apache-2.0
// The engines on the chip (chip_engines) behind a serial line: the tag of a frame (serial_frames) says where it goes.
module demonstrator #(
    // Cycles of a bit of the serial line.
    parameter DIVISOR = 25,
    // Lines of the table, a power of two.
    parameter LINES   = 64,
    // Vectors of a sum: 2, 4 or 8.
    parameter INPUTS = 2
) (
    input  wire clk,
    input  wire rst,
    input  wire rx,
    output wire tx
);
  /* verilator lint_off UNUSEDSIGNAL */ wire [7:0] tag; /* verilator lint_on UNUSEDSIGNAL */  // the other bits are not needed
  wire [127:0] in_data, out_data;
  wire in_valid, in_ready, out_valid, out_ready, out_last;
  wire [1:0] source;
  /* verilator lint_off UNUSEDSIGNAL */ wire no_source; /* verilator lint_on UNUSEDSIGNAL */  // its engines are three

  serial_frames #(
      .DIVISOR(DIVISOR)
  ) line (
      .*,
      .in_tag(tag),
      .out_tag({5'b0, out_last, source})
  );

  chip_engines #(
      .LINES (LINES),
      .INPUTS(INPUTS)
  ) engines (
      .*,
      .counters(128'b0),
      .in_target({1'b0, tag[1:0]}),
      .in_keep(~(16'hFFFE << tag[7:4])),
      .in_last(tag[2]),
      .out_source({no_source, source}),
      /* verilator lint_off PINCONNECTEMPTY */ .m_axil_addr(), /* verilator lint_on PINCONNECTEMPTY */  // there are no engines 2 and 3
      /* verilator lint_off PINCONNECTEMPTY */ .m_axil_awvalid(), /* verilator lint_on PINCONNECTEMPTY */  // reads return 0
      .m_axil_awready(2'b11),
      /* verilator lint_off PINCONNECTEMPTY */ .m_axil_wdata(), /* verilator lint_on PINCONNECTEMPTY */  // there are no engines 2 and 3
      /* verilator lint_off PINCONNECTEMPTY */ .m_axil_wvalid(), /* verilator lint_on PINCONNECTEMPTY */  // there are no engines 2 and 3
      .m_axil_wready(2'b11),
      .m_axil_bvalid(2'b11),
      /* verilator lint_off PINCONNECTEMPTY */ .m_axil_arvalid(), /* verilator lint_on PINCONNECTEMPTY */  // there are no engines 2 and 3
      .m_axil_arready(2'b11),
      .m_axil_rdata(64'b0),
      .m_axil_rvalid(2'b11),
      /* verilator lint_off PINCONNECTEMPTY */ .write_entry(), /* verilator lint_on PINCONNECTEMPTY */  // nor tables of theirs
      /* verilator lint_off PINCONNECTEMPTY */ .entry_at(), /* verilator lint_on PINCONNECTEMPTY */  // nor tables of theirs
      /* verilator lint_off PINCONNECTEMPTY */ .entry_table(), /* verilator lint_on PINCONNECTEMPTY */  // nor tables of theirs
      /* verilator lint_off PINCONNECTEMPTY */ .entry_data() /* verilator lint_on PINCONNECTEMPTY */  // nor tables of theirs
  );
endmodule
