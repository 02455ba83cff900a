// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for proofs of a token.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace offramp::store {

using Digest = std::array<unsigned char, 32>;

[[nodiscard]] Digest sha256(std::string_view text);
[[nodiscard]] Digest hmac_sha256(std::string_view secret, std::string_view text);

}  // namespace offramp::store
