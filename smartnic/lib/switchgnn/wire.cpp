// SPDX-License-Identifier: Apache-2.0
#include "switchgnn/wire.hpp"

#include "ipv4.hpp"

namespace offramp::switchgnn {

Builder::Builder(std::uint32_t worker) : short_(prefix(worker, short_bytes)), full_(prefix(worker, data_bytes)) {}

Builder::Prefix Builder::prefix(std::uint32_t worker, std::size_t length) {
    Prefix made;
    write_prefix(made.data(), {first_mac + worker, switch_mac, first_ip + worker, switch_ip}, length, ip_protocol);
    return made;
}

}  // namespace offramp::switchgnn
