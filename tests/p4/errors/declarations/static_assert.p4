#include <core.p4>

const bool ok = static_assert(1 == 2, "widths differ");
