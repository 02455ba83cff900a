// SPDX-License-Identifier: Apache-2.0
// The store that this one follows: a connection to it, by which a snapshot or what is missing comes, and then each change.
//
// A change is applied when its record is whole, so that this store is at all times what the other one once was. While it takes a
// snapshot it answers nothing.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"
#include "disk.hpp"
#include "service.hpp"

namespace offramp::store {

class Upstream {
  public:
    Upstream(Service& service, int epoll);

    void keep(Disk* disk) { disk_ = disk; }
    // Follows the store at a numeric address, or none (port 0), also where a snapshot is under way or will never be whole. False, with
    // the reason.
    bool lead(const std::string& host, std::uint16_t port, std::string& error);
    [[nodiscard]] int socket() const { return socket_.get(); }
    // Does what the socket is ready for.
    void step(std::uint32_t events);
    // Tells the other store how far this one is, if that is new: its log has it.
    void report();
    // Connects again, and reports all the same.
    void rare();

  private:
    enum class Stage { none, connecting, proving, introducing, asking, loading, online };

    void connect();
    void close();
    bool restore(std::string& error);
    // The history that was followed is of no use any more.
    void lose();
    void say(const std::vector<std::string>& words);
    void advance();
    bool take_answer();
    bool answered(std::string_view line);
    bool take_record();
    bool finish_loading();

    Service& service_;
    int epoll_;
    Disk* disk_ = nullptr;
    Stage stage_ = Stage::none;
    Descriptor socket_;
    sockaddr_storage address_{};
    socklen_t address_length_ = 0;
    std::string in_, id_ = "?";
    std::size_t used_ = 0;  // bytes of `in_`
    std::uint64_t number_ = 0;  // of the last record
    std::int64_t next_ms_ = 0, next_report_ms_ = 0, heard_ms_ = 0;
    bool report_due_ = false;
    std::vector<char> input_;
};

}  // namespace offramp::store
