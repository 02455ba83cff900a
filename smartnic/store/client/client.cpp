// SPDX-License-Identifier: Apache-2.0
// The C interface for asking: a connection with requests on their way, in the order of their answers.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <memory>

#include "client/answers.hpp"
#include "client/dial.hpp"
#include "numbers.hpp"
#include "offramp.h"
#include "error_text.hpp"

using namespace offramp::store;

namespace {

constexpr std::uint32_t usual_timeout_ms = 10'000, encoded = ~0u;
constexpr std::size_t read_bytes = std::size_t{256} << 10;

struct Waiting {
    std::uint64_t tag;
    std::uint32_t operation, count;  // of commands with tags in a row
};

void append_words(std::string& to, std::initializer_list<std::string_view> words) {
    to.push_back('*');
    append_number(to, words.size());
    to.append("\r\n");
    for (const std::string_view word : words) {
        to.push_back('$');
        append_number(to, word.size());
        to.append("\r\n").append(word).append("\r\n");
    }
}

bool encode(std::string& to, const offramp_request& request) {
    const std::string_view key(request.key, request.key_length), value(request.value, request.value_length);
    std::string number;
    append_number(number, request.number);
    switch (request.operation) {
        case OFFRAMP_GET: append_words(to, {"GET", key}); return true;
        case OFFRAMP_SET:
            if (request.number == 0)
                append_words(to, {"SET", key, value});
            else
                append_words(to, {"SET", key, value, "PX", number});
            return true;
        case OFFRAMP_DEL: append_words(to, {"DEL", key}); return true;
        case OFFRAMP_INCR: append_words(to, {"INCRBY", key, number}); return true;
        case OFFRAMP_CAS: append_words(to, {"CAS", key, {request.expected, request.expected_length}, value}); return true;
        case OFFRAMP_APPEND: append_words(to, {"APPEND", key, value}); return true;
        case OFFRAMP_EXISTS: append_words(to, {"EXISTS", key}); return true;
        case OFFRAMP_EXPIRE: append_words(to, {"PEXPIRE", key, number}); return true;
        default: return false;
    }
}

// Operations whose answer 0 says that there is no such key.
bool zero_is_missing(std::uint32_t operation) {
    return operation == OFFRAMP_DEL || operation == OFFRAMP_EXISTS || operation == OFFRAMP_EXPIRE;
}

std::int32_t status_of(const Answer& answer, std::uint32_t operation) {
    switch (answer.type) {
        case Answer::error: return OFFRAMP_ERROR;
        case Answer::nothing: return OFFRAMP_MISSING;
        case Answer::array: return OFFRAMP_ARRAY;
        case Answer::number:
            if (operation == OFFRAMP_CAS && answer.integer == 0) return OFFRAMP_DIFFERENT;
            return zero_is_missing(operation) && answer.integer == 0 ? OFFRAMP_MISSING : OFFRAMP_OK;
        default: return OFFRAMP_OK;
    }
}

}  // namespace

struct offramp_client {
    offramp::Descriptor socket;
    std::string address, out, in, fault;
    std::size_t sent = 0, begin = 0, end = 0;  // what of `in` was received and not given to the caller
    std::deque<Waiting> waiting;
    std::size_t pending = 0;

    int lost(const std::string& reason, char* error) {
        if (fault.empty()) fault = address + ": " + reason + "; " + std::to_string(pending) + " requests have no answer";
        tell(error, fault);
        return -1;
    }

    int send(char* error) {
        while (sent < out.size()) {
            const ssize_t count = ::send(socket.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0 && errno == EAGAIN) return 0;
            if (count < 0) return lost(std::strerror(errno), error);
            sent += static_cast<std::size_t>(count);
        }
        out.clear();
        sent = 0;
        return 0;
    }

    // Takes what has come; 1 if there was something, 0 if not.
    int receive(char* error) {
        if (begin > 0 && (begin == end || in.size() - end < read_bytes)) {
            std::memmove(in.data(), in.data() + begin, end - begin);
            end -= begin;
            begin = 0;
        }
        if (in.size() - end < read_bytes) in.resize(std::max(end + read_bytes, in.size() * 2));
        const ssize_t count = ::recv(socket.get(), in.data() + end, in.size() - end, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
        if (count <= 0) return lost(count == 0 ? "the server is gone" : std::strerror(errno), error);
        end += static_cast<std::size_t>(count);
        return 1;
    }

    [[nodiscard]] std::string_view received() const { return {in.data() + begin, end - begin}; }

    // Takes an answer out; returns 1, 0 if none is complete, or -1 if it is malformed.
    int take(offramp_answer& to, char* error) {
        Answer answer;
        const std::size_t used = begin == end ? not_whole : parse_answer(received(), answer);
        if (used == not_whole) return 0;
        if (used == no_answer || waiting.empty()) return lost("it answers something else than redis' protocol", error);
        Waiting& first = waiting.front();
        to = {first.tag++, status_of(answer, first.operation), 0, answer.integer, answer.content.data(), answer.content.size()};
        if (--first.count == 0) waiting.pop_front();
        --pending;
        begin += used;
        return 1;
    }
};

namespace {

bool show_password(offramp_client& client, const std::string& password, std::string& reason) {
    if (password.empty()) return true;
    append_words(client.out, {"AUTH", password});
    client.waiting.push_back({0, encoded, 1});
    client.pending = 1;
    offramp_answer answer{};
    char error[OFFRAMP_ERROR_BYTES];
    if (client.send(error) != 0 || offramp_wait(&client, static_cast<int>(usual_timeout_ms), error) != 1 || client.take(answer, error) != 1)
        return reason = "no answer to the password", false;
    if (answer.status == OFFRAMP_OK) return true;
    reason.assign(answer.value, answer.length);
    return false;
}

}  // namespace

offramp_client* offramp_connect(const char* address, const offramp_client_settings* given, char* error) {
    offramp_client_settings settings{};
    if (given != nullptr) std::memcpy(&settings, given, std::min<std::size_t>(given->size, sizeof settings));
    const int timeout_ms = static_cast<int>(settings.timeout_ms == 0 ? usual_timeout_ms : settings.timeout_ms);
    try {
        std::string reason, token;
        const char* file = settings.token_file != nullptr ? settings.token_file : std::getenv("OFFRAMP_TOKEN_FILE");
        auto client = std::make_unique<offramp_client>();
        client->address = address;
        if (settings.password == nullptr && file != nullptr && !read_token(file, token, reason)) return tell(error, reason), nullptr;
        client->socket = dial(address, timeout_ms, reason);
        if (reason.empty() && settings.password == nullptr) greet(client->socket.get(), token, reason);
        if (reason.empty()) {
            ::fcntl(client->socket.get(), F_SETFL, ::fcntl(client->socket.get(), F_GETFL) | O_NONBLOCK);
            if (settings.password == nullptr || show_password(*client, settings.password, reason)) return client.release();
        }
        tell(error, client->address + ": " + reason);
    } catch (const std::exception& fault) {
        tell(error, fault.what());
    }
    return nullptr;
}

offramp_client* offramp_client_of(int socket, const char* name) {
    auto* client = new (std::nothrow) offramp_client;
    if (client == nullptr) return nullptr;
    client->socket = offramp::Descriptor(socket);
    client->address = name;
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
    return client;
}

int offramp_submit(offramp_client* client, const offramp_request* requests, size_t count, char* error) {
    if (!client->fault.empty()) return tell(error, client->fault), -1;
    for (std::size_t i = 0; i < count; ++i) {
        if (!encode(client->out, requests[i])) {
            tell(error, "request " + std::to_string(i) + ": no operation " + std::to_string(requests[i].operation));
            return -2;
        }
        client->waiting.push_back({requests[i].tag, requests[i].operation, 1});
        ++client->pending;
    }
    return client->send(error);
}

int offramp_submit_encoded(offramp_client* client, const char* commands, size_t length, size_t count, uint64_t first, char* error) {
    if (!client->fault.empty()) return tell(error, client->fault), -1;
    if (count == 0) return 0;
    client->out.append(commands, length);
    client->waiting.push_back({first, encoded, static_cast<std::uint32_t>(count)});
    client->pending += count;
    return client->send(error);
}

int64_t offramp_poll(offramp_client* client, offramp_answer* answers, size_t room, char* error) {
    if (client->send(error) != 0 && client->begin == client->end) return -1;
    std::int64_t taken = 0;
    bool looked = false;
    while (static_cast<std::size_t>(taken) < room) {
        const int taken_now = client->take(answers[taken], error);
        if (taken_now < 0) return taken > 0 ? taken : -1;
        taken += taken_now;
        if (taken_now == 1) continue;
        // Answers that were taken point into the buffer, which receiving moves.
        if (looked || taken > 0) break;
        looked = true;
        if (client->receive(error) < 0) return -1;
    }
    return taken;
}

int offramp_wait(offramp_client* client, int timeout_ms, char* error) {
    Answer answer;
    while (true) {
        if (client->send(error) != 0) return -1;
        if (client->begin != client->end && parse_answer(client->received(), answer) != not_whole) return 1;
        pollfd one{client->socket.get(), static_cast<short>(POLLIN | (client->out.empty() ? 0 : POLLOUT)), 0};
        const int ready = ::poll(&one, 1, timeout_ms);
        if (ready == 0) return 0;
        if (ready > 0 && (one.revents & ~POLLOUT) != 0 && client->receive(error) < 0) return -1;
    }
}

int offramp_descriptor(const offramp_client* client) {
    return client->socket.get();
}

size_t offramp_unsent(const offramp_client* client) {
    return client->out.size() - client->sent;
}

size_t offramp_pending(const offramp_client* client) {
    return client->pending;
}

void offramp_close(offramp_client* client) {
    delete client;
}
