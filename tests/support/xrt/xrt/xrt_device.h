// SPDX-License-Identifier: Apache-2.0
// In place of XRT's headers: the part of its C++ interface that the host program uses, over a simulated card, as
// offramp_sim/rtl/xrt/pyxrt.py is for Python. An xclbin is a text here: a line for each argument of a kernel, with kernel,
// address, place, offset, bits and whether it is a buffer.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace xrt {

using uuid = std::string;

struct argument {
    std::uint32_t address, offset, bits;
    bool buffer;
};

class device {
  public:
    explicit device(unsigned index) {
        const char *bus = std::getenv("OFFRAMP_XRT_BUS"), *memory = std::getenv("OFFRAMP_XRT_DRAM");
        if (index != 0 || bus == nullptr || memory == nullptr) throw std::runtime_error("no such device");
        const int file = ::open(memory, O_RDWR | O_CLOEXEC);
        struct stat status {};
        if (file < 0 || ::fstat(file, &status) != 0) throw std::runtime_error("no memory of a simulated card");
        size = static_cast<std::size_t>(status.st_size);
        content = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        ::close(file);
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::strncpy(at.sun_path, bus, sizeof at.sun_path - 1);
        const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener, 1) != 0)
            throw std::runtime_error("no bus of a simulated card");
        std::printf("listening\n");
        std::fflush(stdout);
        line_ = ::accept(listener, nullptr, nullptr);
        ::close(listener);
    }

    uuid load_xclbin(const std::string& path) {
        std::ifstream file(path);
        if (!file) throw std::runtime_error(path + ": no xclbin");
        for (std::string text; std::getline(file, text);) {
            std::istringstream words(text);
            std::string kernel;
            std::size_t place = 0;
            argument one{};
            words >> kernel >> one.address >> place >> one.offset >> one.bits >> one.buffer;
            kernels[kernel][place] = one;
        }
        return path;
    }

    std::uint32_t access(char operation, std::uint64_t address, std::uint32_t value = 0) const {
        char request[13];
        request[0] = operation;
        std::memcpy(request + 1, &address, sizeof address);
        std::memcpy(request + 9, &value, sizeof value);
        std::uint32_t answer = 0;
        if (::send(line_, request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
            ::recv(line_, &answer, sizeof answer, MSG_WAITALL) != sizeof answer)
            throw std::runtime_error("the simulated card is gone");
        return answer;
    }

    std::map<std::string, std::map<std::size_t, argument>> kernels;
    char* content = nullptr;
    std::size_t size = 0, used = 0;

  private:
    int line_ = -1;
};

}  // namespace xrt
