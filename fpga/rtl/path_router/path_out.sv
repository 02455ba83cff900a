// SPDX-License-Identifier: Apache-2.0
// Output of a port: whole packets of each queue in turn, from a register.
module path_out #(
    // Bits of a beat; the highest says that a packet ends.
    parameter WIDTH = 577,
    // Queues, 2 or more.
    parameter COUNT = 2,
    // Queues that can have packets, a bit each.
    parameter [COUNT-1:0] USED = {COUNT{1'b1}}
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [COUNT*WIDTH-1:0] from_data,
    input  wire [      COUNT-1:0] from_valid,
    output wire [      COUNT-1:0] from_ready,
    output reg  [      WIDTH-1:0] data,
    output reg                    valid,
    input  wire                   ready
);
  reg [COUNT-1:0] open;  // whose packet has begun
  wire [COUNT-1:0] request = |open ? from_valid & open : from_valid;
  wire [COUNT-1:0] grant;
  wire [WIDTH-1:0] chosen;
  wire last = chosen[WIDTH-1];
  wire some;
  wire free = !valid || ready;

  arbiter #(
      .COUNT(COUNT)
  ) turn (
      .*,
      .valid(some),
      .taken(free && last)
  );

  assign from_ready = free ? grant : {COUNT{1'b0}};

  path_mux #(
      .WIDTH(WIDTH),
      .COUNT(COUNT),
      .USED (USED)
  ) mux (
      .from_data(from_data),
      .choice(grant),
      .data(chosen)
  );

  always @(posedge clk) begin
    if (free) data <= chosen;
    if (rst) begin
      valid <= 1'b0;
      open  <= {COUNT{1'b0}};
    end else if (free) begin
      valid <= some;
      if (some) open <= last ? {COUNT{1'b0}} : grant;
    end
  end
endmodule
