/* SPDX-License-Identifier: Apache-2.0 */
/* The Tofino Native Architecture. */
#ifndef _TNA_P4_
#define _TNA_P4_

#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 1
#endif

#include "tofino/sizes.p4"
#include "tofino/metadata.p4"
#include "tofino/externs.p4"
#include "tofino/stateful.p4"
#include "tofino/pipeline.p4"

#endif
