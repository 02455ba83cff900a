// SPDX-License-Identifier: Apache-2.0
// What every device is to the host. Written by ci/formats: change it there.
#pragma once


namespace offramp {

// How requests end (offramp.device).
enum Status {
    kOk = 0,
    kUnknownFunction = 1,
    kBadLength = 2,
    kOutOfBounds = 3,
    kAborted = 4,
    kFailed = 5,
};

// How ebs.lookup ends.
enum EbsOutcome {
    kFound = 0,
    kNoVolume = 1,
    kOutOfRange = 2,
    kSplit = 3,
    kUnmapped = 4,
    kWait = 5,
};

// Types of elements of sums.
enum ElementType {
    kInt32 = 0,
    kFixed = 1,
    kFloat32 = 2,
    kBfloat16 = 3,
};

}  // namespace offramp
