// SPDX-License-Identifier: Apache-2.0
// The vertices of a job, by block and number, and their owners, by number alone (tables slots and owners of
// p4/switchgnn). An entry is at the place that its key hashes to, or at the next one that was free
// (offramp.switchgnn.card_tables), so that a look-up that meets an empty place knows that there is none. Three cycles for
// each place that it looks at, and one.
module vertex_table #(
    // A power of two, 16 to 65536.
    parameter ENTRIES = 1024
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        clearing,    // empty the place clear_at
    input  wire [$clog2(ENTRIES)-1:0] clear_at,
    input  wire        write,
    input  wire [15:0] write_at,
    input  wire [95:0] write_data,
    input  wire        owner,       // whose owner, in whatever block; these stay until done
    input  wire [15:0] block,
    input  wire [31:0] vertex,
    input  wire        valid,       // look
    output reg         done,        // for a cycle; the following stay until the next look
    output reg         listed,
    output wire [15:0] slot,        // of its first chunk
    output wire [15:0] first,       // contribution that its upload makes
    output wire [ 7:0] chunks,
    output wire [ 4:0] worker,      // its owner
    output wire        sends        // it is uploaded
);
  if (ENTRIES < 16 || ENTRIES > 65536 || (ENTRIES & (ENTRIES - 1)) != 0) begin : wrong_ENTRIES vertex_table_needs_ENTRIES_a_power_of_two_16_to_65536 refused (); end

  localparam BITS = $clog2(ENTRIES);
  localparam [1:0] IDLE = 0, READ = 1, COMPARE = 2, TEST = 3;

  (* ram_style = "block" *)
  reg [95:0] memory[0:ENTRIES-1];
  reg [95:0] entry;
  reg [1:0] state;
  reg [BITS-1:0] at, start;
  reg same, around;

  wire [BITS-1:0] turned;  // the block, so that blocks are far apart
  genvar g;
  generate
    for (g = 0; g < BITS; g = g + 1) begin : turn
      assign turned[g] = block[BITS-1-g];
    end
  endgenerate
  wire [BITS-1:0] hash = vertex[BITS-1:0] ^ vertex[2*BITS-1:BITS] ^ turned ^ {BITS{owner}};

  assign slot   = entry[63:48];
  assign first  = entry[79:64];
  assign chunks = entry[87:80];
  assign worker = entry[92:88];
  assign sends  = entry[93];

  wire here = {16'b0, write_at} < ENTRIES;
  always @(posedge clk) begin
    if (state == READ) entry <= memory[at];
    if (clearing) memory[clear_at] <= 96'b0;
    else if (write && here) memory[write_at[BITS-1:0]] <= write_data;

    done <= 1'b0;
    case (state)
      IDLE: begin
        at    <= hash;
        start <= hash;
        if (valid) state <= READ;
      end
      READ: begin
        at    <= at + 1'b1;
        state <= COMPARE;
      end
      COMPARE: begin
        same   <= entry[47:0] == {block, vertex} && entry[95:94] == {1'b1, owner};
        around <= at == start;
        state  <= TEST;
      end
      default: begin
        listed <= same;
        done  <= same || !entry[95] || around;
        state <= same || !entry[95] || around ? IDLE : READ;
      end
    endcase
    if (rst) state <= IDLE;
  end
endmodule
