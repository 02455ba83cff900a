// SPDX-License-Identifier: Apache-2.0
// Patterns of KEYS, SCAN and CONFIG: * ? [a-z] [^a] and backslashes.
#pragma once

#include <string_view>

namespace offramp::store::resp {

// In time proportional to the product of both lengths, whatever the pattern.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

}  // namespace offramp::store::resp
