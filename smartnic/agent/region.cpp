// SPDX-License-Identifier: Apache-2.0
#include "region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace offramp {

std::shared_ptr<Region> Region::map(Descriptor descriptor, std::uint64_t size, std::string& error) {
    const int fd = descriptor.get();
    constexpr int needed = F_SEAL_SHRINK | F_SEAL_SEAL;
    const int seals = ::fcntl(fd, F_GET_SEALS);
    struct stat status {};
    if (seals < 0 || (seals & needed) != needed) {
        error = "map: expected a memfd sealed against shrinking (F_SEAL_SHRINK, F_SEAL_SEAL)";
    } else if (::fstat(fd, &status) != 0 || size == 0 || size > most ||
               static_cast<std::uint64_t>(status.st_size) != size) {
        error = "map: a memfd of " + std::to_string(status.st_size) + " bytes, the message says " + std::to_string(size);
    } else {
        void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) return std::shared_ptr<Region>(new Region(std::move(descriptor), static_cast<std::byte*>(at), size));
        error = "map: the memory cannot be mapped for reading and writing";
    }
    return nullptr;
}

Region::~Region() {
    ::munmap(data_, size_);
}

}  // namespace offramp
