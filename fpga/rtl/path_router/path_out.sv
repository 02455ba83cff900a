// SPDX-License-Identifier: Apache-2.0
// A port's way out: whole packets of each queue in turn.
module path_out #(
    // Bits of a beat; the highest says that a packet ends.
    parameter WIDTH = 577,
    // Queues, 2 or more.
    parameter COUNT = 2,
    // Those that can have packets, a bit each.
    parameter [COUNT-1:0] USED = {COUNT{1'b1}}
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [COUNT*WIDTH-1:0] from_data,
    input  wire [      COUNT-1:0] from_valid,
    output wire [      COUNT-1:0] from_ready,
    output wire [      WIDTH-1:0] data,
    output wire                   valid,
    input  wire                   ready
);
  reg [COUNT-1:0] open;  // whose packet has begun
  wire [COUNT-1:0] request = |open ? from_valid & open : from_valid;
  wire [COUNT-1:0] grant;
  wire last = data[WIDTH-1];

  arbiter #(
      .COUNT(COUNT)
  ) turn (
      .clk(clk),
      .rst(rst),
      .request(request),
      .grant(grant),
      .valid(valid),
      .taken(ready && last)
  );

  assign from_ready = ready ? grant : {COUNT{1'b0}};

  path_mux #(
      .WIDTH(WIDTH),
      .COUNT(COUNT),
      .USED (USED)
  ) mux (
      .from_data(from_data),
      .choice(grant),
      .data(data)
  );

  always @(posedge clk) begin
    if (rst) open <= {COUNT{1'b0}};
    else if (valid && ready) open <= last ? {COUNT{1'b0}} : grant;
  end
endmodule
