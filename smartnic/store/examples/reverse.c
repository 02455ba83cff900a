/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in with one function, which turns a message around: cc -shared -fPIC reverse.c -o reverse.so */
#include <offramp.h>

static int64_t reverse(void *state, const void *message, size_t length, void *answer, size_t room) {
    (void)state;
    if (length > room) return -2;
    for (size_t i = 0; i < length; ++i) ((char *)answer)[i] = ((const char *)message)[length - 1 - i];
    return (int64_t)length;
}

static const offramp_function functions[] = {{"reverse", reverse}, {NULL, NULL}};

OFFRAMP_API const offramp_plugin OFFRAMP_PLUGIN_SYMBOL = {
    .size = sizeof(offramp_plugin), .abi = OFFRAMP_PLUGIN_ABI, .kind = "cpu", .functions = functions, .answer_bytes = 65536,
};
