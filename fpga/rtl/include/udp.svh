// SPDX-License-Identifier: Apache-2.0
// Parameters of the cards on Ethernet, from a board's top down to udp_engines: declarations, and their values for an
// instance.
`ifndef UDP_SVH
`define UDP_SVH

// What the builder of a bitstream chooses (offramp.fpga.card_parameters).
`define BOARD_PARAMETERS(PAGES_BY_DEFAULT) \
    /* IPv4 address, 192.168.1.50 by default. */ \
    parameter [31:0] ADDRESS = 32'hC0A80132, \
    /* Whether it sums float32, too. */ \
    parameter FLOAT32S = 1, \
    /* Pages of slots for all-reduces: 0, or a power of two. */ \
    parameter PAGES = PAGES_BY_DEFAULT, \
    /* SwitchGNN's aggregators and table sizes: 0, or powers of two, 16 to 65536. */ \
    parameter AGGREGATORS = 0, \
    parameter VERTICES = 1024, \
    parameter EDGES = 1024, \
    /* Lines of ebs_lookup's tables: 0, without the engine, or a power of two up to 65536. */ \
    parameter EBS_LINES = 0, \
    /* Beats of 32 bytes of a row that quantpack holds: 0, without the engine, or a power of two up to 4096; */ \
    /* with 64 nothing waits, and a datagram's longest row has 44. */ \
    parameter QUANTPACK_DEPTH = 0

`define BOARD_VALUES \
    .ADDRESS(ADDRESS), \
    .FLOAT32S(FLOAT32S), \
    .PAGES(PAGES), \
    .AGGREGATORS(AGGREGATORS), \
    .VERTICES(VERTICES), \
    .EDGES(EDGES), \
    .EBS_LINES(EBS_LINES), \
    .QUANTPACK_DEPTH(QUANTPACK_DEPTH)

`define UDP_PARAMETERS(HERTZ) \
    `BOARD_PARAMETERS(0), \
    /* Frequency of clk, Hz. */ \
    parameter [31:0] CLOCK = HERTZ, \
    /* Cycles without a word after which another host may have the card. */ \
    parameter [31:0] PATIENCE = 5 * CLOCK, \
    /* Requests on their way, a power of two, 2 or more. */ \
    parameter PLACES = 8, \
    /* Lines of the table, a power of two. */ \
    parameter LINES = 256, \
    /* Vectors of a sum: 2, 4 or 8. */ \
    parameter INPUTS = 2, \
    /* Beats of a vector, a power of two, 2 or more. */ \
    parameter DEPTH = 64

`define UDP_VALUES \
    `BOARD_VALUES, \
    .CLOCK(CLOCK), \
    .PATIENCE(PATIENCE), \
    .PLACES(PLACES), \
    .LINES(LINES), \
    .INPUTS(INPUTS), \
    .DEPTH(DEPTH)
`endif
