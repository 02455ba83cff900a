#include <core.p4>

control proto(inout bit<8> x);
package top(proto p);

parser c(inout bit<8> x) {
    state start { transition accept; }
}

top(c()) main;
