/* SPDX-License-Identifier: Apache-2.0 */
/* What older programs include by name. */
#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 2
#endif

#include "tofino/metadata.p4"
#include "tofino/externs.p4"
#include "tofino/stateful.p4"
