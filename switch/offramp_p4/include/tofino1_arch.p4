/* SPDX-License-Identifier: Apache-2.0 */
/* What older programs include by name. */
#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 1
#endif

#include "tofino/pipeline.p4"
