// SPDX-License-Identifier: Apache-2.0
// Further addresses of an interface of Linux, for as long as this lives, without promiscuous mode.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "descriptor.hpp"

namespace offramp {

class Hearing {
  public:
    using Address = std::array<std::uint8_t, 6>;

    // False, and why, where the kernel refuses. An interface without a filter of addresses is left as it is: it hears
    // everything (veth), or its own address only, and the kernel would make it promiscuous.
    bool add(const std::string& interface, const Address& address, std::string& error);
    void remove(const std::string& interface, const Address& address);

  private:
    Descriptor socket_;  // a packet socket that receives nothing
};

}  // namespace offramp
