// SPDX-License-Identifier: Apache-2.0
#include "offload.hpp"

#include <algorithm>

#include "reduce.hpp"
#include "sylvie.hpp"

namespace offramp {

Answer offload(Function function, const Tables& tables, Bytes message, Room answer) {
    switch (function) {
        case Function::kvs_lookup:
            return kvs_lookup(tables.kvs, message, answer);
        case Function::ebs_lookup:
            return ebs_lookup(tables.ebs, message, answer);
        case Function::reduce:
            return reduce(message, answer);
        case Function::quantise:
            return quantise(message, answer);
        case Function::dequantise:
            return dequantise(message, answer);
        case Function::features_select:
            return features_select(tables.features, message, answer);
        case Function::echo:
            if (answer.size() < message.size()) return {Status::no_room};
            std::copy(message.begin(), message.end(), answer.begin());
            return {Status::ok, message.size()};
        default:
            return {Status::unknown_function};
    }
}

}  // namespace offramp
