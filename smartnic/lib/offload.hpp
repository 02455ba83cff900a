// SPDX-License-Identifier: Apache-2.0
// The functions that need no device of DPDK's, by number.
#pragma once

#include "ebs.hpp"
#include "features.hpp"
#include "kvs.hpp"

namespace offramp {

// The memory of functions that look things up; each queue has its own.
struct Tables {
    KvsTable kvs;
    EbsTables ebs;
    FeatureTable features;
};

// `message` and `answer` do not overlap; both may be written by the host at any time, which spoils the answer only.
[[nodiscard]] Answer offload(Function function, const Tables& tables, Bytes message, Room answer);

}  // namespace offramp
