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

    // Nothing, and why, where it does not start.
    static std::unique_ptr<Eal> start(const Options& options, std::string& why);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    // The ports that the options name, in their order.
    static bool open_ports(const Options& options, std::vector<std::unique_ptr<Port>>& ports, std::string& why);
    // The name that DPDK knows the compression device by; empty for none.
    static std::string compression(const Options& options);

  private:
    Eal() = default;
};

}  // namespace offramp
