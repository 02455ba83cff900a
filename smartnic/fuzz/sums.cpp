// SPDX-License-Identifier: Apache-2.0
// Fuzzes a rank of all-reduce: frames of any bytes while tensors of any type are summed.
//
// The input is the first tensor's type and length, then frames: a length of one byte, then the bytes. Of those with an
// even length the bytes are a header's, of this job, with lanes behind it, so that the fuzzer soon reaches the protocol.
#include <algorithm>
#include <vector>

#include "allreduce/endpoint.hpp"
#include "ipv4.hpp"

using namespace offramp;
using namespace offramp::allreduce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const Settings settings{1, 3, 0x5EED, 1, 1, 128, (size % 5 == 0) ? 0xFFFF'FF00u : 0u, 1000};
    Endpoint endpoint(settings);
    const auto type = static_cast<Type>(1 + data[0] % 11);
    const Format form(type, settings.ranks);
    const std::size_t count = data[1] * std::size_t{64} + data[2];
    std::vector<std::byte> values(count * form.value_bytes()), sums(count * form.sum_bytes());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(data[i % size]);
    Bytes left = std::as_bytes(std::span(data, size)).subspan(3);
    Time now = 0;
    endpoint.begin({type, count, values.data(), sums.data()});
    while (!left.empty()) {
        const std::size_t length = std::min<std::size_t>(std::to_integer<std::size_t>(left[0]), left.size() - 1);
        const Bytes bytes = left.subspan(1, length);
        std::vector<std::byte> frame(bytes.begin(), bytes.end());
        if (length % 2 == 0 && length >= 12) {
            frame.assign(endpoint.frame_bytes(), std::byte{0x11});
            std::byte* at = write_prefix(frame.data(), {1, 2, 3, 4}, frame.size(), ip_protocol);
            std::copy_n(bytes.begin(), std::min<std::size_t>(length, header::size + 64), at);
            header::job.set(at, settings.job);
            header::kind.set(at, 2 + (header::kind(at) & 1u));
            header::chunk.set(at, (settings.first + header::chunk(at) % 200) % 0xFFFF'FFFF + 1);
            const auto slot = (header::chunk(at) - 1u) % page;
            header::page.set(at, 0);
            header::line.set(at, slot);
        }
        endpoint.incoming(frame);
        left = left.subspan(1 + length);
        endpoint.tick(now += 700);
        while (!endpoint.outgoing(1 + length % 40).empty()) {
        }
        if (endpoint.idle() && endpoint.failure().empty()) endpoint.begin({type, count, values.data(), sums.data()});
    }
    return 0;
}
