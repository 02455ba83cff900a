/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NCCL tuner plug-in for interface versions 3 to 6, complete in itself: it needs no header of NCCL.
 *
 * For the communicators of its table it sets the cost of one algorithm and protocol to zero, where NCCL has them, and
 * the number of channels. Everything else remains NCCL's choice.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Results, collectives and log levels are enumerations in NCCL, of the size of an int. */
enum { SUCCESS = 0, SYSTEM_ERROR = 2 };

typedef void (*Logger)(int level, unsigned long flags, const char *file, int line, const char *format, ...);

typedef struct {
    size_t ranks;
    size_t nodes;
    int collective;
    uint64_t least; /* bytes, inclusive */
    uint64_t most;
    int algorithm;
    int protocol;
    int channels;
} Choice;

static const Choice choices[] = {
    /* the table of choices */
};

typedef struct {
    size_t ranks;
    size_t nodes;
} Communicator;

static int start(void **context, size_t ranks, size_t nodes)
{
    Communicator *communicator = malloc(sizeof *communicator);

    if (communicator == NULL)
        return SYSTEM_ERROR;
    communicator->ranks = ranks;
    communicator->nodes = nodes;
    *context = communicator;
    return SUCCESS;
}

static int choose(void *context, int collective, size_t bytes, float **costs, int algorithms, int protocols,
                  int *channels)
{
    const Communicator *communicator = context;
    float *table = (float *)costs; /* rows of one algorithm each, one after the other */

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const Choice *choice = &choices[i];

        if (choice->ranks != communicator->ranks || choice->nodes != communicator->nodes ||
            choice->collective != collective || bytes < choice->least || bytes > choice->most)
            continue;
        if (choice->algorithm >= algorithms || choice->protocol >= protocols)
            return SUCCESS;
        float *cost = &table[choice->algorithm * protocols + choice->protocol];

        if (*cost < 0) /* NCCL cannot run it here */
            return SUCCESS;
        *cost = 0;
        *channels = choice->channels;
        return SUCCESS;
    }
    return SUCCESS;
}

static int end(void *context)
{
    free(context);
    return SUCCESS;
}

static int init_v3(size_t ranks, size_t nodes, Logger logger, void **context)
{
    (void)logger;
    return start(context, ranks, nodes);
}

static int init_v5(void **context, uint64_t communicator, size_t ranks, size_t nodes, Logger logger, void *domains,
                   void *constants)
{
    (void)communicator;
    (void)logger;
    (void)domains;
    (void)constants;
    return start(context, ranks, nodes);
}

static int choose_v3(void *context, int collective, size_t bytes, int operations, float **costs, int algorithms,
                     int protocols, int *channels)
{
    (void)operations;
    return choose(context, collective, bytes, costs, algorithms, protocols, channels);
}

static int choose_v4(void *context, int collective, size_t bytes, int operations, float **costs, int algorithms,
                     int protocols, int registered, int *channels)
{
    (void)operations;
    (void)registered;
    return choose(context, collective, bytes, costs, algorithms, protocols, channels);
}

typedef int (*InitV3)(size_t, size_t, Logger, void **);
typedef int (*InitV5)(void **, uint64_t, size_t, size_t, Logger, void *, void *);
typedef int (*ChooseV3)(void *, int, size_t, int, float **, int, int, int *);
typedef int (*ChooseV4)(void *, int, size_t, int, float **, int, int, int, int *);
typedef int (*ChunkSizeV6)(void *, int, size_t, int, int, int, size_t *);

typedef struct {
    const char *name;
    InitV3 init;
    ChooseV3 choose;
    int (*destroy)(void *);
} TunerV3;

typedef struct {
    const char *name;
    InitV3 init;
    ChooseV4 choose;
    int (*destroy)(void *);
} TunerV4;

typedef struct {
    const char *name;
    InitV5 init;
    ChooseV4 choose;
    int (*finalize)(void *);
} TunerV5;

typedef struct {
    const char *name;
    InitV5 init;
    ChooseV4 choose;
    int (*finalize)(void *);
    ChunkSizeV6 chunk_size; /* none: NCCL's own */
} TunerV6;

/* The names are NCCL's: it looks them up, the newest first. */
extern const TunerV3 ncclTunerPlugin_v3;
extern const TunerV4 ncclTunerPlugin_v4;
extern const TunerV5 ncclTunerPlugin_v5;
extern const TunerV6 ncclTunerPlugin_v6;

const TunerV3 ncclTunerPlugin_v3 = {"themis", init_v3, choose_v3, end};
const TunerV4 ncclTunerPlugin_v4 = {"themis", init_v3, choose_v4, end};
const TunerV5 ncclTunerPlugin_v5 = {"themis", init_v5, choose_v4, end};
const TunerV6 ncclTunerPlugin_v6 = {"themis", init_v5, choose_v4, end, NULL};
