/* SPDX-License-Identifier: Apache-2.0 */
/* Where p4c installs this target's version of the Portable Switch Architecture. */
#include "../psa.p4"
