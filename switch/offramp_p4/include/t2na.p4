/* SPDX-License-Identifier: Apache-2.0 */
/* The Tofino 2 Native Architecture: wider metadata, more results of a register action, a ghost thread. */
#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 2
#endif

#include "tna.p4"
