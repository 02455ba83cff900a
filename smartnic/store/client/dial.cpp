// SPDX-License-Identifier: Apache-2.0
#include "client/dial.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "client/sha256.hpp"

namespace offramp::store {
namespace {

constexpr const char* protocol = "LEO store";
constexpr std::size_t nonce_bytes = 32, most_token = 4096, most_answer = 1 << 16;
constexpr std::string_view magic = "OFL1";

void limit(int socket, int timeout_ms) {
    timeval time{timeout_ms / 1000, timeout_ms % 1000 * 1000};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

bool read_all(int socket, char* to, std::size_t length) {
    for (std::size_t done = 0; done < length;) {
        const ssize_t count = ::recv(socket, to + done, length - done, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

bool write_all(int socket, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

std::string big_endian(std::size_t number) {
    const std::uint32_t word = __builtin_bswap32(static_cast<std::uint32_t>(number));
    return {reinterpret_cast<const char*>(&word), sizeof word};
}

std::string proof(const std::string& token, std::string_view label, std::string_view first, std::string_view second) {
    std::string text;
    for (const std::string_view part : {label, std::string_view(protocol), first, second}) text.append(big_endian(part.size())).append(part);
    const Digest digest = hmac_sha256(token, text);
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Descriptor dial_unix(const std::string& path, int timeout_ms, std::string& error) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof place.sun_path) return error = "expected a path of 1 to 107 bytes", Descriptor();
    std::memcpy(place.sun_path, path.c_str(), path.size() + 1);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    limit(socket.get(), timeout_ms);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) return error = std::strerror(errno), Descriptor();
    return socket;
}

}  // namespace

Descriptor dial(const std::string& address, int timeout_ms, std::string& error) {
    if (address.starts_with("unix:")) return dial_unix(address.substr(5), timeout_ms, error);
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos || colon == 0) return error = "expected HOST:PORT, [IPV6]:PORT or unix:PATH", Descriptor();
    std::string host = address.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    addrinfo hints{}, *resolved = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (const int fault = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &resolved); fault != 0)
        return error = ::gai_strerror(fault), Descriptor();
    Descriptor socket(::socket(resolved->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    limit(socket.get(), timeout_ms);
    const bool done = ::connect(socket.get(), resolved->ai_addr, resolved->ai_addrlen) == 0;
    if (!done) error = errno == EINPROGRESS ? "no answer in time" : std::strerror(errno);
    ::freeaddrinfo(resolved);
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return done ? std::move(socket) : Descriptor();
}

bool greet(int socket, const std::string& token, std::string& error) {
    std::string challenge(magic.size() + 1 + nonce_bytes, '\0'), verdict(1 + nonce_bytes, '\0'), header(4, '\0');
    if (!read_all(socket, challenge.data(), challenge.size())) return error = "it closed the connection before it answered", false;
    if (!challenge.starts_with(magic)) return error = "it does not speak Offramp's handshake", false;
    if (challenge[magic.size()] != 0 && token.empty()) return error = "it asks for a token; none was given", false;
    const std::string theirs = challenge.substr(magic.size() + 1);
    std::string ours(nonce_bytes, '\0');
    if (::getrandom(ours.data(), ours.size(), 0) != static_cast<ssize_t>(ours.size())) return error = "no random numbers", false;
    if (!write_all(socket, ours + (token.empty() ? std::string(nonce_bytes, '\0') : proof(token, "client", theirs, ours))) ||
        !read_all(socket, verdict.data(), verdict.size()))
        return error = "it closed the connection before it answered", false;
    if (verdict[0] != 1) return error = "it does not accept the token that was given", false;
    if (!token.empty() && verdict.substr(1) != proof(token, "server", theirs, ours)) return error = "it does not have the token that was given", false;
    const std::string greeting = R"({"store": 1})";
    if (!write_all(socket, big_endian(greeting.size()) + greeting) || !read_all(socket, header.data(), header.size()))
        return error = "it closed the connection before it answered", false;
    std::uint32_t length;
    std::memcpy(&length, header.data(), sizeof length);
    std::string answer(__builtin_bswap32(length), '\0');
    if (answer.size() > most_answer || !read_all(socket, answer.data(), answer.size())) return error = "it closed the connection before it answered", false;
    if (answer.find("\"error\"") != std::string::npos) return error = "it refuses: " + answer, false;
    return true;
}

bool read_token(const std::string& path, std::string& token, std::string& error) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat about {};
    if (file.get() < 0 || ::fstat(file.get(), &about) != 0) return error = path + ": " + std::strerror(errno), false;
    if (!S_ISREG(about.st_mode) || (about.st_uid != ::geteuid() && about.st_uid != 0) || (about.st_mode & 077) != 0)
        return error = path + ": expected a file of yours that nobody else may open (mode 0600)", false;
    token.assign(most_token + 2, '\0');
    const ssize_t count = ::read(file.get(), token.data(), token.size());
    token.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    const char* space = " \t\r\n\v\f";
    token.erase(token.find_last_not_of(space) + 1);
    token.erase(0, token.find_first_not_of(space));
    if (token.size() < 16 || token.size() > most_token) return error = path + ": expected a token of 16 to 4096 bytes", false;
    return true;
}

}  // namespace offramp::store
