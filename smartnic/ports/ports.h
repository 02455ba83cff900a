/* SPDX-License-Identifier: Apache-2.0 */
/* What the P4 switch (offramp_p4.ports.dpdk) calls: DPDK's ports, and threads that run machine code on their frames.
 *
 * Functions that may fail return a negative number, or nothing, and leave a line for offramp_error(). Ports and workers
 * are changed while workers pause. A port's number is the program's; every port has one receiving queue, which one worker
 * polls, and one sending queue for each worker where the driver has so many. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a worker finds what it shares with machine code: indices of words of the context. */
typedef struct {
    int64_t now_us;
    int64_t out_data, out_used;     /* heads of frames, one behind the other */
    int64_t index_data, index_used; /* a record for each frame that leaves */
} offramp_layout;

/* A frame that leaves: bytes of its head in OUT, then `rest` bytes of the frame `number` of the burst from `skipped` on.
 * `skipped` below 0: the head is all of it. */
typedef struct {
    int64_t port, head, number, skipped, rest;
} offramp_leaving;

/* Runs a burst of frames, by their addresses, to completion. */
typedef int64_t (*offramp_run)(int64_t context, const int64_t *frames, const int32_t *lengths, const int32_t *ports,
                               int64_t count);

/* The same for frames in rows; records have port and length only, and OUT has whole frames. */
typedef int64_t (*offramp_run_whole)(int64_t context, int64_t frames, int64_t stride, const int32_t *lengths,
                                     const int32_t *ports, int64_t count);

typedef struct {
    int64_t run;   /* address of an offramp_run, or of an offramp_run_whole; 0: frames are dropped */
    int64_t whole; /* 1: it is the latter */
    int64_t context;
    int64_t epoch_ns; /* CLOCK_MONOTONIC when the switch's time was 0 */
    offramp_layout layout;
} offramp_program;

/* Frames; `dropped` did not fit the device, `missed` were lost by it. */
typedef struct {
    uint64_t received, sent, dropped, missed, up;
} offramp_port_stats;

/* Frames that came by ports, that machine code ran, that were handed to other workers, that were lost on the way there
 * or before there was a program, that went to ports that do not exist; and processor time. */
typedef struct {
    uint64_t received, processed, handed, lost, unknown, cpu_ns;
} offramp_worker_stats;

const char *offramp_error(void);

/* DPDK's environment, once for a process. */
int offramp_start(int argc, char **argv);

/* Starts a device as a port of the program, and makes it first if it is virtual, with these arguments. */
int offramp_open(const char *name, const char *arguments, int port, int workers);
void offramp_close(int port);
int offramp_port_stats_of(int port, offramp_port_stats *into);

/* Threads that poll; `by_flow`: frames go to the worker that their flow's hash says, not to their port's. */
int offramp_workers(int count, int by_flow);
void offramp_assign(int worker, int port);
void offramp_program_of(int worker, const offramp_program *program);
int offramp_worker_stats_of(int worker, offramp_worker_stats *into);
void offramp_run_workers(void);
void offramp_end_workers(void);

/* No worker runs between these two; calls may nest. */
void offramp_pause(void);
void offramp_resume(void);

/* Frames for ports that are not DPDK's: readable when there are some; at most `most`, each in a row of `stride` bytes. */
int offramp_exceptions_fd(void);
int64_t offramp_exceptions(uint8_t *rows, int64_t stride, int32_t *lengths, int32_t *ports, int64_t most);
/* Frames from elsewhere that leave by a port; how many it takes. */
int64_t offramp_send(int port, const uint8_t *rows, int64_t stride, const int64_t *which, const int32_t *lengths, int64_t count);

#ifdef __cplusplus
}
#endif
