// SPDX-License-Identifier: Apache-2.0
// DPDK's environment: started once for a process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "port.hpp"

namespace offramp {

class Eal {
  public:
    static constexpr const char* zlib = "compress_zlib";
    static constexpr const char* isal = "compress_isal";
    static constexpr const char* loop = "loop";  // the port whose other end is in this process

    // Returns nothing and the reason if it does not start.
    static std::unique_ptr<Eal> start(const Options& options, std::string& error);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    // The ports that the options name, in their order, and the other ends of links that are inside this process.
    static bool open_ports(const Options& options, std::vector<std::unique_ptr<Port>>& ports,
                           std::vector<std::unique_ptr<Port>>& ends, std::string& error);
    // The name that DPDK knows the compression device by; empty for none.
    static std::string compression(const Options& options);

  private:
    Eal() = default;
};

}  // namespace offramp
