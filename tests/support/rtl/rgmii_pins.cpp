// SPDX-License-Identifier: Apache-2.0
// The card at its RGMII pins, simulated at Verilator's own pace: frames from a socket go in, the card's frames go out.
//
// The socket keeps packets apart; its descriptor is the only argument. A packet is a frame without preamble and check
// sequence; what leaves the card must have both, and no error. Time stands still while the card is idle and nobody
// sends. When the other end closes, the card's counters and the cycles of the PHY's clock are printed as JSON.
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "Vtop.h"
#include "Vtop___024root.h"

namespace {

constexpr std::size_t PREAMBLE = 8, CHECK = 4, GAP = 12, LEAST = 60, MOST = 2048;
constexpr unsigned HALF_PHY_PS = 4'000;
constexpr unsigned HALF_CLOCK_PS = 20'001;  // 50 ppm off 25 MHz, so that both clocks' edges meet in every order
constexpr unsigned COUNTERS = 16;
constexpr std::uint64_t LOOK = 16;        // cycles between looks at the socket
constexpr std::uint64_t BUSY = 1U << 16;  // cycles after the last frame in which the card may still be at work
constexpr std::uint64_t NAP = 1U << 10;   // cycles between waits after those
constexpr int WAIT_MS = 20;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "rgmii_pins: %s\n", what);
  std::exit(1);
}

std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t at = 0; at < table.size(); ++at) {
      std::uint32_t value = at;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320U : 0);
      table[at] = value;
    }
    return table;
  }();
  std::uint32_t crc = ~0U;
  for (std::size_t at = 0; at < size; ++at) crc = crc >> 8 ^ table[(crc ^ data[at]) & 0xFF];
  return ~crc;
}

class Card {
 public:
  explicit Card(int line) : line_(line) {
    top_.rst = 1;
    for (int cycle = 0; cycle < 100; ++cycle) step();
    top_.rst = 0;
    for (int cycle = 0; cycle < 100; ++cycle) step();
  }

  // Carry frames until the other end closes.
  void run() {
    while (goes_ < sending_.size() || cycles_ % LOOK || fetch()) step();
  }

  void report() {
    std::printf("{\"cycles\": %llu, \"counters\": [", static_cast<unsigned long long>(cycles_));
    for (unsigned at = 0; at < COUNTERS; ++at)
      std::printf("%s%u", at ? ", " : "", top_.rootp->udp_card__DOT__engines__DOT__counters[at]);
    std::printf("]}\n");
  }

 private:
  // Take the next frame if there is one; false when there will be none.
  bool fetch() {
    if (cycles_ > active_ + BUSY) {
      pollfd waits{line_, POLLIN, 0};
      poll(&waits, 1, WAIT_MS);
      active_ = cycles_ - BUSY + NAP;
    }
    sending_.assign(PREAMBLE, 0x55);
    sending_.back() = 0xD5;
    sending_.resize(PREAMBLE + MOST);
    const auto size = recv(line_, &sending_[PREAMBLE], MOST, MSG_DONTWAIT);
    sending_.resize(size > 0 ? PREAMBLE + static_cast<std::size_t>(size) : 0);
    goes_ = 0;
    if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
    if (sending_.size() < PREAMBLE + LEAST) sending_.resize(PREAMBLE + LEAST);
    const auto sum = crc32(&sending_[PREAMBLE], sending_.size() - PREAMBLE);
    for (unsigned at = 0; at < CHECK; ++at) sending_.push_back(static_cast<std::uint8_t>(sum >> 8 * at));
    ends_ = sending_.size();
    sending_.resize(ends_ + GAP);
    return true;
  }

  // A cycle of the PHY's clock: a byte each way, its lower half at the rising edge.
  void step() {
    const bool valid = goes_ < sending_.size() && goes_ < ends_;
    const std::uint8_t byte = valid ? sending_[goes_] : 0;
    if (goes_ < sending_.size()) ++goes_;
    top_.rgmii_rx_ctl = valid;
    top_.rgmii_rd = byte & 15;
    edge(true);
    const bool first = top_.rgmii_tx_ctl;
    const unsigned low = top_.rgmii_td;
    top_.rgmii_rd = byte >> 4;
    edge(false);
    if (first != static_cast<bool>(top_.rgmii_tx_ctl)) fail("an error on the wire");
    if (first) {
      coming_.push_back(static_cast<std::uint8_t>(low | top_.rgmii_td << 4));
    } else if (!coming_.empty()) {
      deliver();
      coming_.clear();
    }
    if (valid || first) active_ = cycles_;
    ++cycles_;
  }

  void edge(bool level) {
    until_clock_ += HALF_PHY_PS;
    if (until_clock_ >= HALF_CLOCK_PS) {
      until_clock_ -= HALF_CLOCK_PS;
      top_.clk = !top_.clk;
      top_.eval();
    }
    top_.rgmii_rxc = level;
    top_.eval();
  }

  void deliver() {
    if (coming_.size() < PREAMBLE + LEAST + CHECK) fail("a runt from the card");
    for (std::size_t at = 0; at < PREAMBLE; ++at)
      if (coming_[at] != (at + 1 == PREAMBLE ? 0xD5 : 0x55)) fail("no preamble");
    const auto* frame = &coming_[PREAMBLE];
    const auto size = coming_.size() - PREAMBLE - CHECK;
    const auto sum = crc32(frame, size);
    for (unsigned at = 0; at < CHECK; ++at)
      if (frame[size + at] != static_cast<std::uint8_t>(sum >> 8 * at)) fail("a wrong check sequence from the card");
    if (send(line_, frame, size, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET) fail("the socket fails");
  }

  int line_;
  Vtop top_;
  std::vector<std::uint8_t> sending_, coming_;
  std::size_t goes_ = 0, ends_ = 0;
  std::uint64_t cycles_ = 0, active_ = 0;
  unsigned until_clock_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count != 2) fail("expected a descriptor");
  Card card(std::atoi(words[1]));
  card.run();
  card.report();
}
