// SPDX-License-Identifier: Apache-2.0
// `compress` and `decompress` in zlib's format by a device of DPDK's compressdev, one queue pair for each core.
#pragma once

#include <rte_compressdev.h>
#include <rte_mempool.h>

#include <memory>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "status.hpp"

namespace offramp {

// The device, configured for that many cores.
class CompressDevice {
  public:
    // The device by name, or the first one; nothing and the reason on failure.
    static std::unique_ptr<CompressDevice> open(const std::string& name, unsigned cores, std::string& error);
    ~CompressDevice();

    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    friend class Compressor;
    CompressDevice() = default;

    std::uint8_t id_ = 0;
    std::string name_;
    bool says_end_ = false;  // how many bytes it consumed, exactly
    // Transforms of each core: those of zlib's device hold the state of one stream.
    struct Transforms {
        void* compress = nullptr;
        void* decompress = nullptr;
    };
    std::vector<Transforms> transforms_;
};

// One core's use of a device that compresses and one that decompresses, which may be the same.
class Compressor {
  public:
    Compressor(const CompressDevice& deflater, const CompressDevice& inflater, unsigned queue);
    ~Compressor();
    Compressor(const Compressor&) = delete;
    Compressor& operator=(const Compressor&) = delete;

    [[nodiscard]] Answer compress(Bytes message, Room answer);
    // At most 16 MiB, and only what ends where the message does.
    [[nodiscard]] Answer decompress(Bytes message, Room answer);

  private:
    struct Done {
        std::uint8_t status;
        std::uint32_t consumed, produced;
    };

    Done run(const CompressDevice& device, void* transform, Bytes from, std::size_t room);
    rte_mbuf* chain(std::size_t length);
    void fill(Bytes from);
    void copy_out(std::size_t length, std::byte* to) const;
    void release();

    const CompressDevice& deflater_;
    const CompressDevice& inflater_;
    std::uint16_t queue_;
    rte_mempool* ops_ = nullptr;
    rte_mempool* buffers_ = nullptr;
    rte_mbuf* source_ = nullptr;
    rte_mbuf* sink_ = nullptr;
};

}  // namespace offramp
