// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <getopt.h>

#include <charconv>
#include <cstring>

namespace offramp {
namespace {

bool number(const char* text, unsigned least, unsigned most, int base, unsigned& to) {
    const char* end = text + std::strlen(text);
    const auto [stop, fault] = std::from_chars(text, end, to, base);
    return fault == std::errc{} && stop == end && to >= least && to <= most;
}

}  // namespace

const char* Options::usage() {
    return "usage: offramp-nic-agent [options]\n"
           "  --socket PATH        control socket (/run/offramp-nic/agent.sock)\n"
           "  --mode OCTAL         its permissions, which are all the authentication there is (600)\n"
           "  --cores N            that work; one more waits for clients (1)\n"
           "  --cpus LIST          CPUs for them, as DPDK's --lcores has it: 2-5 or 2,4 (those of this process)\n"
           "  --port PORT          interface, xdp:INTERFACE, memif:PATH[,client], vhost:PATH[,client], virtio:PATH,\n"
           "                       PCI address[,arguments], or a device of DPDK's, net_…[,arguments]; with @VLAN behind\n"
           "                       it frames bear that tag; again for more\n"
           "                       loop: a link inside the agent whose other end is as with --reflect\n"
           "  --queues N           of each port, each way (1)\n"
           "  --software-rules     leave the devices' own flow rules alone\n"
           "  --telemetry          open DPDK's telemetry socket\n"
           "  --compression NAME   zlib | isal | none | a device that DPDK finds, such as mlx5's (zlib)\n"
           "  --memory MB          for DPDK (256)\n"
           "  --huge               use huge pages\n"
           "  --spin               never sleep\n"
           "  --eal ARGUMENT       one more argument for DPDK; again for more\n"
           "  --reflect            be the other end of SwitchGNN's links, for measurements\n"
           "  --take-over          from the agent that is at the socket, which then ends; its ports, and interfaces only\n"
           "  --until-eof          end when standard input does: with the process at its other end\n"
           "  --check              start, print what there is, end\n"
           "  --describe           the same of the ports, as JSON\n";
}

bool Options::parse(int count, char** arguments, Options& options, std::string& error, bool& help) {
    static const option known[] = {
        {"socket", required_argument, nullptr, 's'}, {"mode", required_argument, nullptr, 'm'},
        {"cores", required_argument, nullptr, 'c'},  {"cpus", required_argument, nullptr, 'u'},
        {"port", required_argument, nullptr, 'p'},   {"compression", required_argument, nullptr, 'z'},
        {"memory", required_argument, nullptr, 'M'}, {"huge", no_argument, nullptr, 'H'},
        {"spin", no_argument, nullptr, 'S'},         {"eal", required_argument, nullptr, 'e'},
        {"check", no_argument, nullptr, 'C'},        {"reflect", no_argument, nullptr, 'R'},
        {"until-eof", no_argument, nullptr, 'E'},    {"help", no_argument, nullptr, 'h'},
        {"queues", required_argument, nullptr, 'q'}, {"software-rules", no_argument, nullptr, 'r'},
        {"telemetry", no_argument, nullptr, 't'},    {"describe", no_argument, nullptr, 'D'},
        {"take-over", no_argument, nullptr, 'T'},
        {nullptr, 0, nullptr, 0}};
    opterr = 0;
    for (int which = 0; (which = ::getopt_long(count, arguments, "h", known, nullptr)) != -1;) {
        bool good = true;
        switch (which) {
            case 's':
                options.socket = optarg;
                break;
            case 'm':
                good = number(optarg, 0, 0777, 8, options.mode);
                break;
            case 'c':
                good = number(optarg, 1, 64, 10, options.cores);
                break;
            case 'u':
                options.cpus = optarg;
                break;
            case 'p':
                options.ports.emplace_back(optarg);
                break;
            case 'z':
                options.compression = optarg;
                break;
            case 'M':
                good = number(optarg, 64, 1 << 20, 10, options.memory_mb);
                break;
            case 'H':
                options.huge = true;
                break;
            case 'S':
                options.spin = true;
                break;
            case 'e':
                options.eal.emplace_back(optarg);
                break;
            case 'E':
                options.until_eof = true;
                break;
            case 'C':
                options.check = true;
                break;
            case 'q':
                good = number(optarg, 1, 64, 10, options.queues);
                break;
            case 'r':
                options.flow_rules = false;
                break;
            case 't':
                options.telemetry = true;
                break;
            case 'D':
                options.describe = true;
                break;
            case 'T':
                options.take_over = true;
                break;
            case 'R':
                options.reflect = true;
                break;
            case 'h':
                help = true;
                return true;
            default:
                good = false;
        }
        if (!good) {
            error = std::string("argument ") + arguments[optind - 1] + ": not understood; --help lists what is";
            return false;
        }
    }
    if (optind < count) error = std::string("argument ") + arguments[optind] + ": expected options only";
    return optind >= count;
}

}  // namespace offramp
