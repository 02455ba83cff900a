// SPDX-License-Identifier: Apache-2.0
#include "allreduce/endpoint.hpp"

#include <algorithm>
#include <utility>

#include "ipv4.hpp"

namespace offramp::allreduce {
namespace {

constexpr std::int64_t tags = 0xFFFF'FFFF;  // chunk numbers on the wire are 1 to this, round and round; 0 is an empty slot
constexpr std::uint64_t reordered = 16;  // a chunk counts as lost once that many chunks sent after it have returned
constexpr std::size_t most_repeats = 256;
constexpr std::size_t most_at_once = 16;  // when nothing comes: if the network is only slow, more would make it slower

// Whether this is a whole all-reduce packet for a job.
bool is_ours(Bytes frame, std::uint32_t job, std::size_t whole) {
    if (frame.size() < header_bytes || !is_ipv4(frame.data(), ip_protocol)) return false;
    const std::byte* at = frame.data() + prefix_bytes;
    const unsigned kind = header::kind(at);
    return header::job(at) == job && kind <= static_cast<unsigned>(Kind::pull) &&
           (kind == static_cast<unsigned>(Kind::pull) || frame.size() >= whole);
}

}  // namespace

Endpoint::Endpoint(const Settings& settings)
    : settings_(settings),
      frame_bytes_(header_bytes + 4 * lanes * settings.segments),
      slots_(std::size_t{settings.pages} * page),
      frames_(slots_.size() * frame_bytes_),
      flight_(std::clamp<Number>(settings.flight, 1, slots() / 2)),
      base_(static_cast<Number>(settings.first)),
      next_(base_),
      timer_(settings.retry, 4 * settings.retry) {
    const Route route{first_mac + settings.rank, switch_mac, first_ip + settings.rank, switch_ip};
    for (std::size_t number = 0; number < slots_.size(); ++number) {
        std::byte* at = write_prefix(frame(static_cast<Number>(number)), route, frame_bytes_, ip_protocol);
        header::job.set(at, settings.job);
        header::page.set(at, number / page);
        header::line.set(at, number % page);
        header::rank.set(at, settings.rank);
    }
}

void Endpoint::begin(const Tensor& tensor) {
    if (running_.empty()) starts_.push_back(base_);
    const Shape shape{settings_.rank, settings_.ranks, lanes * settings_.segments, static_cast<std::uint64_t>(window())};
    running_.emplace_back(sequence_++, tensor, shape);
}

std::string Endpoint::name() const {
    return TensorSum::name_of(settings_.rank, running_.empty() ? sequence_ : running_.front().sequence());
}

std::string Endpoint::state() const {
    const std::uint32_t present = present_ | present_before_;
    if (present == 0)
        return name() + ": no answer from the switch, which may run another program or lack the job's entries,";
    std::string missing;
    unsigned count = 0;
    for (unsigned rank = 0; rank < settings_.ranks; ++rank) {
        if ((present >> rank & 1) != 0) continue;
        missing += (count++ == 0 ? " " : ", ") + std::to_string(rank);
    }
    if (count == 0) return name() + ": the sum does not come";
    return name() + ": nothing came from rank" + (count > 1 ? "s" : "") + missing;
}

// --- sending ---------------------------------------------------------------------------------------------------

std::span<const std::byte> Endpoint::outgoing(std::size_t limit) {
    if (!failure_.empty() || limit == 0) return {};
    find_lost();
    if (!again_.empty()) return repeat(limit);
    if (starts_.empty()) return {};
    return build(std::min(sendable(), static_cast<Number>(limit)));
}

// How many frames of the tensor that is being sent may leave.
Endpoint::Number Endpoint::sendable() {
    for (;;) {
        const std::size_t which = starts_.size() - 1;
        TensorSum& tensor = running_[which];
        const Number at = next_ - starts_[which], complete = base_ - starts_[which];
        Number last = 1;
        if (at != 0) {
            if (complete < 1) return 0;
            const auto length = tensor.length(static_cast<std::uint64_t>(complete));
            const Number data = 1 + static_cast<Number>(tensor.data());
            last = !length || at < data ? data : static_cast<Number>(*length);
            if (length && at == static_cast<Number>(*length)) {  // the next may begin
                if (starts_.size() == running_.size()) return 0;
                starts_.push_back(next_);
                continue;
            }
        }
        return std::max<Number>(0, std::min(last - at, base_ + flight_ - next_));
    }
}

std::span<const std::byte> Endpoint::build(Number count) {
    count = std::min(count, slots() - next_ % slots());  // side by side
    if (count <= 0) return {};
    TensorSum& tensor = running_[starts_.size() - 1];
    const Number start = starts_.back(), first = next_;
    for (; next_ < first + count; ++next_) {
        std::byte* at = frame(next_) + prefix_bytes;
        std::uint16_t exponent;
        std::uint8_t flags;
        if (!tensor.build(static_cast<std::uint64_t>(next_ - start), at + header::size, exponent, flags)) {
            failure_ = tensor.name() +
                       ": a number is beyond the exponent that the ranks agreed on: it changed meanwhile";
            return {};
        }
        header::chunk.set(at, static_cast<std::uint64_t>(next_ % tags + 1));
        header::exponent.set(at, exponent);
        header::flags.set(at, flags);
        stamp(next_);
        slot(next_).again = false;
    }
    return {frame(first), static_cast<std::size_t>(count) * frame_bytes_};
}

std::span<const std::byte> Endpoint::repeat(std::size_t limit) {
    repeats_.clear();
    for (std::size_t sent = 0; sent < limit && !again_.empty(); ++sent) {
        const Number number = again_.front();
        again_.pop_front();
        slot(number).again = false;
        const std::byte* kept = frame(number);
        repeats_.insert(repeats_.end(), kept, kept + frame_bytes_);
        header::kind.set(repeats_.data() + sent * frame_bytes_ + prefix_bytes, static_cast<unsigned>(Kind::again));
        stamp(number);
        ++stats_.repeated;
    }
    return repeats_;
}

void Endpoint::stamp(Number number) {
    slot(number).stamp = stats_.sent++;
    slot(number).sent = now_;
}

void Endpoint::ask_again(Number number) {
    if (std::exchange(slot(number).again, true)) return;
    again_.push_back(number);
}

void Endpoint::tick(Time now) {
    now_ = now;
    if (progress_ != timed_ || base_ == next_) {
        timed_ = progress_;
        timer_.restart();
    }
    if (!timer_.fires(now) || !again_.empty()) return;
    for (Number number = base_; number < next_ && again_.size() < most_at_once; ++number)
        if (!slot(number).received) ask_again(number);
    if (present_ != 0) present_before_ = std::exchange(present_, 0);  // a restarted switch has lost what it had
}

// --- receiving -------------------------------------------------------------------------------------------------

void Endpoint::incoming(Bytes frame) {
    if (!failure_.empty()) return;
    if (!is_ours(frame, settings_.job, frame_bytes_)) {
        ++stats_.foreign;
        return;
    }
    const std::byte* at = frame.data() + prefix_bytes;
    const auto kind = static_cast<Kind>(header::kind(at));
    if (kind == Kind::result) take_result(at);
    if (kind == Kind::pull) take_pull(at);
}

// A chunk's number, from that modulo `tags` and the window.
Endpoint::Number Endpoint::number_of(std::uint32_t chunk) const {
    const Number ahead = ((Number{chunk} - 1 - base_) % tags + tags) % tags;
    return base_ + ahead - (ahead > tags / 2 ? tags : 0);
}

void Endpoint::take_result(const std::byte* at) {
    const Number number = number_of(header::chunk(at));
    const bool fresh = number >= base_ && number < next_ && !slot(number).received &&
                       Number{header::page(at)} * static_cast<Number>(page) + header::line(at) == number % slots();
    if (!fresh) {
        ++stats_.duplicates;
        return;
    }
    ++stats_.results;
    ++progress_;
    slot(number).received = true;
    if (!deliver(number, at)) return;
    newest_ = std::max(newest_, slot(number).stamp);
    if (number == base_) advance();
}

// Gives a sum to the tensor that it belongs to.
bool Endpoint::deliver(Number number, const std::byte* at) {
    std::size_t which = starts_.size() - 1;
    while (starts_[which] > number) --which;
    return running_[which].accept(static_cast<std::uint64_t>(number - starts_[which]), at + header::size,
                                  header::exponent(at), header::flags(at), failure_);
}

// Repeats chunks that left well before one whose sum has arrived: a contribution to them is lost. Not before all that has
// arrived was taken, since that may be out of order.
void Endpoint::find_lost() {
    if (newest_ == searched_) return;
    searched_ = newest_;
    std::size_t repeats = 0;
    for (Number number = base_; number < next_ && repeats < most_repeats; ++number) {
        const Slot& each = slot(number);
        if (number == base_ && each.stamp + reordered >= newest_) return;
        if (each.received || each.stamp + reordered >= newest_) continue;
        ask_again(number);
        ++repeats;
    }
}

// Moves the window past the sums that are here, and finishes tensors.
void Endpoint::advance() {
    for (; base_ < next_ && slot(base_).received; ++base_) slot(base_).received = false;
    present_ = present_before_ = 0;
    while (!starts_.empty() && base_ > starts_.front()) {
        const auto length = running_.front().length(static_cast<std::uint64_t>(base_ - starts_.front()));
        if (!length || base_ < starts_.front() + static_cast<Number>(*length)) return;
        if (starts_.size() == 1 && running_.size() > 1)
            starts_.push_back(starts_.front() + static_cast<Number>(*length));
        starts_.pop_front();
        const bool good = running_.front().finish(failure_);
        running_.pop_front();
        if (!good) return;
        ++finished_;
    }
}

void Endpoint::take_pull(const std::byte* at) {
    ++stats_.pulls;
    const Number number = number_of(header::chunk(at));
    const std::uint32_t present = header::present(at);
    if (number == base_) present_ |= present;
    if ((present >> settings_.rank & 1) != 0 || number < std::max<Number>(static_cast<Number>(settings_.first), next_ - slots()) || number >= next_)
        return;
    if (slot(number).sent > now_ - settings_.retry / 2) return;  // it may be on its way
    slot(number).sent = now_;
    ask_again(number);
}

}  // namespace offramp::allreduce
