// SPDX-License-Identifier: Apache-2.0
// The agent's command line.
#pragma once

#include <string>
#include <vector>

namespace offramp {

struct Options {
    std::string socket = "/run/offramp-nic/agent.sock";
    unsigned mode = 0600;
    unsigned cores = 1;
    unsigned queues = 1;  // of each port, each way
    unsigned memory_mb = 256;
    std::vector<std::string> ports;    // as Device::parse reads them
    std::string compression = "zlib";  // zlib, isal, the name of a device, none
    std::string cpus;                  // that the cores may use; empty: all of this process
    bool huge = false;                 // use huge pages
    bool spin = false;                 // never sleep
    bool take_over = false;            // from the agent at the socket
    bool reflect = false;              // be the other end of a link, for measurements
    bool until_eof = false;            // end when standard input does
    bool check = false;                // start, say what there is, end
    bool describe = false;             // the same of the ports, as JSON
    bool telemetry = false;            // DPDK's
    bool flow_rules = true;            // the devices' own, where they have them
    std::vector<std::string> eal;      // further arguments for DPDK's EAL

    // Nothing that was not understood, or why; `help` where that was asked for.
    static bool parse(int count, char** arguments, Options& options, std::string& error, bool& help);
    static const char* usage();
};

}  // namespace offramp
