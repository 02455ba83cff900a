// SPDX-License-Identifier: Apache-2.0
// A connection to a server: dialled, and proved where there is a token (offramp_base.listening.handshake).
#pragma once

#include <string>

#include "descriptor.hpp"

namespace offramp::store {

// `address`: HOST:PORT, [IPV6]:PORT or unix:PATH. The socket blocks; nothing takes longer than `timeout_ms`.
Descriptor dial(const std::string& address, int timeout_ms, std::string& error);
// Proves a token to a listener of Offramp and checks its proof; `token` is empty where it asks for none.
bool greet(int socket, const std::string& token, std::string& error);
// Contents of a token file.
bool read_token(const std::string& path, std::string& token, std::string& error);

}  // namespace offramp::store
