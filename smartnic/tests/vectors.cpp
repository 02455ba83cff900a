// SPDX-License-Identifier: Apache-2.0
// Runs test vectors that Python made from its models: `offramp-nic-vectors FILE`. The same file goes through the native
// binary and, under qemu, through that for aarch64.
//
// A vector: function, status, four parameters, lengths of tables, message, answer and tables after (4 bytes each), then
// these bytes. Parameters: buckets of the kvs index; volumes, entries, segments of ebs, or rows and columns of features.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "offload.hpp"
#include "reduce.hpp"

using namespace offramp;

namespace {

std::vector<char> content(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Reader {
    const std::byte* at;
    const std::byte* end;

    std::uint32_t number() {
        const auto value = load<std::uint32_t>(at);
        at += 4;
        return value;
    }
    std::vector<std::byte> bytes(std::size_t length) {
        std::vector<std::byte> field(at, at + length);
        at += length;
        return field;
    }
};

bool run(Reader& reader) {
    const auto function = static_cast<Function>(reader.number());
    const auto status = static_cast<Status>(reader.number());
    std::uint32_t parameters[4], lengths[4];
    for (auto& each : parameters) each = reader.number();
    for (auto& each : lengths) each = reader.number();
    auto table = reader.bytes(lengths[0]);
    const auto message = reader.bytes(lengths[1]), expected = reader.bytes(lengths[2]),
               after = reader.bytes(lengths[3]);
    Tables tables;
    if (parameters[0] != 0) tables.kvs = {table, parameters[0]};
    if (function == Function::features_select) tables.features = {table, parameters[1], parameters[2]};
    else if (parameters[1] != 0) tables.ebs = {table, parameters[1], parameters[2], parameters[3]};
    // Room to the byte, on the heap, so that a sanitizer sees what is written behind it.
    std::vector<std::byte> answer(status == Status::ok ? expected.size() : 65536);
    const Answer got = offload(function, tables, message, answer);
    if (got.status != status) return false;
    if (status != Status::ok) return table == after;
    if (got.length != expected.size() || answer != expected) return false;
    if (!expected.empty() && function != Function::ebs_lookup) {
        std::vector<std::byte> less(expected.size() - 1);
        if (offload(function, tables, message, less).status != Status::no_room) return false;
    }
    return table == after;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: offramp-nic-vectors FILE\n");
        return 2;
    }
    const auto file = content(arguments[1]);
    const auto* start = reinterpret_cast<const std::byte*>(file.data());
    Reader reader{start, start + file.size()};
    unsigned done = 0;
    for (; reader.at < reader.end; ++done)
        if (!run(reader)) {
            std::printf("vector %u: wrong\n", done);
            return 1;
        }
    std::printf("%u vectors right (%s)\n", done, reduce_target());
    return done == 0;
}
