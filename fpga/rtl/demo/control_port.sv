// SPDX-License-Identifier: Apache-2.0
// What a host does to the engines on a chip, as packets like theirs: the header's byte 0 says what, bytes 4 to 7 where.
// 0 writes lines of the table, 64 bytes each, from that line on; a line is written whole, so that look-ups meet what there
// was or what there is; with bit 31 of the place it is of another engine's entries, 16 bytes each, of whose two tables bit 30
// chooses. 1 writes a register, whose value is in the next beat, 2 reads one: bits 7:0 of the place are its
// offset, bits 9:8 the engine. 3 reads the counters, four in a beat. With EBS_LINES, bit 30 of a place without bit 31 means
// lines of ebs_lookup's tables, of which 4 reads one. With more than four ENGINES bit 10 means further ones.
module control_port #(
    // Lines of the table, a power of two, 2 or more.
    parameter LINES    = 64,
    // Counters, a multiple of 4, 4 or more.
    parameter COUNTERS = 4,
    // Entries of the larger of that engine's tables, a power of two, 4 to 65536; 0: there is none.
    parameter ENTRIES  = 0,
    // Lines of ebs_lookup's tables, up to 65536; 0: there are none.
    parameter EBS_LINES = 0,
    // Engines with registers: 4 or 8.
    parameter ENGINES = 4
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [  COUNTERS*32-1:0] counters,
    input  wire [            127:0] s_axis_tdata,
    input  wire [             15:0] s_axis_tkeep,
    input  wire                     s_axis_tlast,
    input  wire                     s_axis_tvalid,
    output wire                     s_axis_tready,
    output wire [            127:0] m_axis_tdata,
    output wire                     m_axis_tlast,
    output wire                     m_axis_tvalid,
    input  wire                     m_axis_tready,
    output wire [$clog2(LINES)-1:0] write_line,
    output wire [            511:0] write_data,
    output wire                     write,
    output wire                     write_entry,
    output wire [             15:0] entry_at,
    output wire                     entry_table,
    output wire [             95:0] entry_data,      // the last four bytes are for nothing
    output wire                     write_ebs,
    output wire [             15:0] ebs_line,
    input  wire [            511:0] ebs_data,        // what that line is, a cycle later
    output wire [              7:0] m_axil_addr,     // of both channels
    output wire [              2:0] m_axil_engine,
    output wire                     m_axil_awvalid,
    input  wire                     m_axil_awready,
    output wire [             31:0] m_axil_wdata,
    output wire                     m_axil_wvalid,
    input  wire                     m_axil_wready,
    input  wire                     m_axil_bvalid,
    output wire                     m_axil_arvalid,
    input  wire                     m_axil_arready,
    input  wire [             31:0] m_axil_rdata,
    input  wire                     m_axil_rvalid
);
  if (LINES < 2 || (LINES & (LINES - 1)) != 0) begin : wrong_LINES control_port_needs_LINES_a_power_of_two_2_or_more refused (); end
  if (COUNTERS < 4 || COUNTERS % 4 != 0) begin : wrong_COUNTERS control_port_needs_COUNTERS_a_multiple_of_4_4_or_more refused (); end
  if (ENTRIES < 0 || ENTRIES > 65536 || (ENTRIES & (ENTRIES - 1)) != 0 || ENTRIES % 4 != 0) begin : wrong_ENTRIES control_port_needs_ENTRIES_of_0_or_a_power_of_two_4_to_65536 refused (); end
  if (EBS_LINES < 0 || EBS_LINES > 65536 || (EBS_LINES & (EBS_LINES - 1)) != 0) begin : wrong_EBS_LINES control_port_needs_EBS_LINES_of_0_or_a_power_of_two_up_to_65536 refused (); end
  if (ENGINES != 4 && ENGINES != 8) begin : wrong_ENGINES control_port_needs_ENGINES_of_4_or_8 refused (); end

  localparam [7:0] TABLE = 0, SET = 1, GET = 2, COUNT = 3, LINE = 4;
  localparam [7:0] LAST = EBS_LINES == 0 ? COUNT : LINE;
  localparam [2:0] HEADER = 0, PAYLOAD = 1, WRITE = 2, WAIT = 3, READ = 4, VALUE = 5, LIST = 6, END = 7;
  localparam ROWS = COUNTERS / 4, MOST_ROWS = EBS_LINES == 0 || ROWS > 4 ? ROWS : 4;

  reg [2:0] state;
  reg [7:0] what, status;
  reg [31:0] place, value, count;
  reg [63:0] number;
  reg [383:0] line;  // quarters of a line that came
  reg [1:0] quarter;
  reg address_waits, value_waits;
  reg [$clog2(MOST_ROWS+1)-1:0] row;

  wire taken = s_axis_tvalid && s_axis_tready;
  wire given = m_axis_tvalid && m_axis_tready;
  wire good = status == device_pkg::OK;
  wire of_entries = place[31];
  wire of_ebs = EBS_LINES != 0 && place[31:30] == 1;
  wire in_ebs = of_ebs && place[29:0] >> $clog2(EBS_LINES) == 0;
  wire in_entries = ENTRIES != 0 && place[29:0] >> $clog2(ENTRIES / 4) == 0;
  wire in_table = of_entries ? in_entries : in_ebs || place >> $clog2(LINES) == 0;
  wire of_line = EBS_LINES != 0 && what == LINE;
  wire lists = what == COUNT || of_line && in_ebs;
  wire [2:0] works = !good ? END : what == SET ? WRITE : what == GET ? READ : lists ? LIST : END;
  wire quarters = state == PAYLOAD && taken && what == TABLE;

  assign s_axis_tready  = state == HEADER || state == PAYLOAD;
  assign m_axis_tvalid  = state == LIST || state == VALUE || state == END;
  assign m_axis_tlast   = state == END;
  assign m_axis_tdata   = state == LIST ? (of_line ? ebs_data[row*128+:128] : counters[row*128+:128]) : state == VALUE ? {96'b0, value}
      : {number, count, 24'b0, status};
  assign write_line     = place[$clog2(LINES)-1:0];
  assign write_data     = {s_axis_tdata, line};
  wire whole = quarters && good && in_table && &s_axis_tkeep;
  wire line_ends = whole && quarter == 3;
  assign write          = line_ends && !of_entries && !of_ebs;
  assign write_ebs      = line_ends && of_ebs;
  assign ebs_line       = place[15:0];
  assign write_entry    = whole && of_entries;
  assign entry_at       = {place[13:0], quarter};
  assign entry_table    = place[30];
  assign entry_data     = s_axis_tdata[95:0];
  assign m_axil_addr    = place[7:0];
  assign m_axil_engine  = {ENGINES > 4 && place[10], place[9:8]};
  assign m_axil_awvalid = address_waits;
  assign m_axil_wdata   = value;
  assign m_axil_wvalid  = value_waits;
  assign m_axil_arvalid = state == READ && works == READ;


  always @(posedge clk) begin
    if (taken && state == HEADER) begin
      what    <= s_axis_tdata[7:0];
      place   <= s_axis_tdata[63:32];
      number  <= s_axis_tdata[127:64];
      count   <= 0;
      quarter <= 0;
      row     <= 0;
      status  <= s_axis_tdata[7:0] > LAST || s_axis_tdata[31:8] != 0 ? device_pkg::UNKNOWN_FUNCTION
          : !(&s_axis_tkeep) || ((s_axis_tdata[7:0] == TABLE || s_axis_tdata[7:0] == SET) == s_axis_tlast)
          ? device_pkg::BAD_LENGTH : device_pkg::OK;
    end else if (taken) begin
      line    <= {s_axis_tdata, line[383:128]};
      quarter <= quarter + 1'b1;
      value   <= s_axis_tdata[31:0];
      if (good) begin
        if (what == TABLE) begin
          if (!in_table) status <= device_pkg::OUT_OF_BOUNDS;
          else if (!(&s_axis_tkeep) || (s_axis_tlast && quarter != 3)) status <= device_pkg::BAD_LENGTH;
        end else if (!s_axis_tlast || !(&s_axis_tkeep[3:0])) status <= device_pkg::BAD_LENGTH;
      end
      if (line_ends) begin
        place <= place + 1'b1;
        count <= count + 1'b1;
      end
    end
    if (state == READ && good && of_line && !in_ebs) status <= device_pkg::OUT_OF_BOUNDS;
    if (state == WAIT && m_axil_rvalid && what == GET) value <= m_axil_rdata;
    if (state == LIST && given) row <= row + 1'b1;
    if (given && !m_axis_tlast) count <= count + (state == LIST ? 32'd4 : 32'd1);
    if (state == WRITE && works == WRITE) {address_waits, value_waits} <= 2'b11;
    else begin
      if (m_axil_awready) address_waits <= 1'b0;
      if (m_axil_wready) value_waits <= 1'b0;
    end
    if (rst) begin
      state         <= HEADER;
      address_waits <= 1'b0;
      value_waits   <= 1'b0;
    end else
      case (state)
        HEADER: if (taken) state <= s_axis_tlast ? READ : PAYLOAD;
        PAYLOAD: if (taken && s_axis_tlast) state <= WRITE;
        WRITE: state <= works == WRITE ? WAIT : END;
        READ: if (works != READ) state <= works; else if (m_axil_arready) state <= WAIT;
        WAIT: if (what == SET ? m_axil_bvalid : m_axil_rvalid) state <= what == SET ? END : VALUE;
        VALUE: if (given) state <= END;
        /* verilator lint_off WIDTHEXPAND */ LIST: if (given && row == (of_line ? 3 : ROWS - 1)) state <= END; /* verilator lint_on WIDTHEXPAND */  // zero-extended
        default: if (given) state <= HEADER;
      endcase
  end
endmodule
