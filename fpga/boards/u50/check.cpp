// SPDX-License-Identifier: Apache-2.0
// Loads an xclbin into a card and tries its engines: register maps, look-ups in a table of one key, a sum. 0 where all is well.
#include <cstddef>
#include <cstdio>
#include <exception>

#include "engine.hpp"
#include "kvs_lookup_regs.h"
#include "reduce_regs.h"

namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& to, const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), from, from + sizeof value);
}

template <typename T>
T at(const Bytes& from, std::size_t place) {
    T value;
    if (place + sizeof value > from.size()) throw std::runtime_error("an answer that ends early");
    std::memcpy(&value, from.data() + place, sizeof value);
    return value;
}

// A request's first beat: the function's own header, and the request's number.
template <typename Header>
Bytes request(const Header& header, std::uint64_t number, std::size_t beat) {
    Bytes packet;
    append(packet, header);
    append(packet, number);
    packet.resize(beat);
    return packet;
}

void expect(bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
}

void check_version(offramp::Engine& engine, std::uint32_t version, const char* what) {
    expect(engine.read(offsetof(kvs_lookup_regs_t, MAGIC)) == MAGIC_R__VALUE_reset, what);
    expect(engine.read(offsetof(kvs_lookup_regs_t, VERSION)) == version, what);
}

void check_lookups(offramp::Engine& engine) {
    check_version(engine, VERSION_R_VALUE_4B560001__VALUE_reset, "kvs_lookup: another register map");
    constexpr std::size_t line = 64;
    auto table = engine.allocate(line);
    auto* content = table.map<std::byte*>();
    std::memset(content, 0, line);
    const std::uint64_t entry[2] = {7, 4096};
    std::memcpy(content, entry, sizeof entry);
    table.sync(XCL_BO_SYNC_BO_TO_DEVICE, line, 0);
    engine.write(offsetof(kvs_lookup_regs_t, BASE_LOW), static_cast<std::uint32_t>(table.address()));
    engine.write(offsetof(kvs_lookup_regs_t, BASE_HIGH), static_cast<std::uint32_t>(table.address() >> 32));
    engine.write(offsetof(kvs_lookup_regs_t, MASK), 0);
    const std::uint32_t header[2] = {0, 2};
    Bytes packet = request(header, 11, engine.beat());
    for (const std::uint64_t key : {7, 8}) append(packet, key);
    const Bytes answer = engine.exchange(packet, 2 * engine.beat());
    expect(at<std::uint64_t>(answer, 0) == 4096 && at<std::uint64_t>(answer, 8) == 0, "kvs_lookup: a wrong address");
    expect(at<std::uint64_t>(answer, answer.size() - engine.beat() + 8) == 11, "kvs_lookup: a wrong number");
    std::printf("kvs_lookup: 2 look-ups, %u cycles\n", engine.cycles());
}

void check_sums(offramp::Engine& engine) {
    check_version(engine, VERSION_R_VALUE_52440001__VALUE_reset, "reduce: another register map");
    struct {
        std::uint8_t type = 2, vectors = 2;  // float32
        std::uint16_t zero = 0;
        std::uint32_t elements = 2;
    } header;
    Bytes packet = request(header, 12, engine.beat());
    for (const float value : {1.5F, -2.0F}) append(packet, value);
    packet.resize(2 * engine.beat());
    for (const float value : {0.25F, 2.0F}) append(packet, value);
    const Bytes answer = engine.exchange(packet, 2 * engine.beat());
    expect(at<float>(answer, 0) == 1.75F && at<float>(answer, 4) == 0.0F, "reduce: a wrong sum");
    std::printf("reduce: a sum of 2 vectors, %u cycles\n", engine.cycles());
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: check engines.xclbin\n");
        return 2;
    }
    try {
        xrt::device card(0);
        const auto loaded = card.load_xclbin(arguments[1]);
        offramp::Engine lookups(card, loaded, "kvs_lookup"), sums(card, loaded, "reduce");
        check_lookups(lookups);
        check_sums(sums);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "check: %s\n", error.what());
        return 1;
    }
    return 0;
}
