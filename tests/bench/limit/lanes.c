// SPDX-License-Identifier: Apache-2.0
// The limit of SwitchGNN's passes on one core: big-endian lanes of a frame are added to a row of sums, in a random order.
// Prints lanes and nanoseconds of the fastest of 40 rounds, in processor time.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 1949, FRAMES = 256, HOPS = 4, PASSES = 200000, ROUNDS = 40, MOST_LANES = 128 };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

// The lanes are a constant of each of its calls, as they are in the program that the switch compiles.
__attribute__((always_inline)) static inline double pass_ns(size_t lanes, uint32_t* sums, const uint32_t* frames,
                                                            const uint32_t* order) {
    double best = 1e18;
    for (int round = 0; round < ROUNDS; ++round) {
        const double start = now_ns();
        for (uint32_t i = 0; i < PASSES; ++i) {
            uint32_t* sum = sums + order[i] * lanes;
            const uint32_t* frame = frames + i / HOPS % FRAMES * lanes;
            for (size_t lane = 0; lane < lanes; ++lane) sum[lane] += __builtin_bswap32(frame[lane]);
        }
        const double took = (now_ns() - start) / PASSES;
        if (took < best) best = took;
    }
    return best;
}

int main(void) {
    uint32_t* sums = aligned_alloc(64, ROWS * MOST_LANES * sizeof(uint32_t));
    uint32_t* frames = aligned_alloc(64, FRAMES * MOST_LANES * sizeof(uint32_t));
    uint32_t* order = malloc(PASSES * sizeof(uint32_t));
    if (sums == NULL || frames == NULL || order == NULL) return 1;
    memset(sums, 0, ROWS * MOST_LANES * sizeof(uint32_t));
    memset(frames, 1, FRAMES * MOST_LANES * sizeof(uint32_t));
    srand(1);
    for (int i = 0; i < PASSES; ++i) order[i] = (uint32_t)rand() % ROWS;
    printf("32 %.1f\n", pass_ns(32, sums, frames, order));
    printf("64 %.1f\n", pass_ns(64, sums, frames, order));
    printf("128 %.1f\n", pass_ns(128, sums, frames, order));
}
