// SPDX-License-Identifier: Apache-2.0
#include "switchgnn/wire.hpp"

#include "ipv4.hpp"

namespace offramp::switchgnn {

Builder::Builder(std::uint32_t worker) {
    for (std::size_t segments = 0; segments <= most_segments; ++segments)
        prefixes_[segments] = prefix(worker, frame_bytes(segments));
}

Builder::Prefix Builder::prefix(std::uint32_t worker, std::size_t length) {
    Prefix prefix;
    write_prefix(prefix.data(), {first_mac + worker, switch_mac, first_ip + worker, switch_ip}, length, ip_protocol);
    return prefix;
}

}  // namespace offramp::switchgnn
