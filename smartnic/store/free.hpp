// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace offramp::store {

// Empties a string or vector and frees its memory, which assigning `{}` to it would keep.
template <typename Container>
void free_memory(Container& container) {
    Container().swap(container);
}

}  // namespace offramp::store
