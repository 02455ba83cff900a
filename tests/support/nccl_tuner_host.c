/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that loads an NCCL tuner plug-in as NCCL does, by one version of its interface, and asks it.
 *
 *     nccl_tuner_host PLUGIN VERSION RANKS NODES IGNORED < questions
 *
 * A question is a line: number of the collective, bytes. The answer: algorithm and protocol of the least cost, number
 * of channels, 0 if the plug-in leaves it open. IGNORED is the number of an algorithm that this host does not have, or
 * -1. The cost of ring and Simple is lowest before the plug-in is asked.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALGORITHMS 7
#define PROTOCOLS 3

typedef enum { ncclSuccess = 0 } ncclResult_t;
typedef enum { ncclFuncAllReduce = 4 } ncclFunc_t;
typedef enum { NCCL_LOG_INFO = 3 } ncclDebugLogLevel;
typedef void (*ncclDebugLogger_t)(ncclDebugLogLevel, unsigned long, const char *, int, const char *, ...);

typedef struct {
    int nNvlDomains, minRanksPerNvlDomain, maxRanksPerNvlDomain;
} Domains;

typedef struct {
    double baseLatencies[ALGORITHMS][PROTOCOLS];
    double hwLatencies[3][ALGORITHMS][PROTOCOLS];
    double limits[5][4][3];
} Constants;

struct v3 {
    const char *name;
    ncclResult_t (*init)(size_t, size_t, ncclDebugLogger_t, void **);
    ncclResult_t (*getCollInfo)(void *, ncclFunc_t, size_t, int, float **, int, int, int *);
    ncclResult_t (*destroy)(void *);
};
struct v4 {
    const char *name;
    ncclResult_t (*init)(size_t, size_t, ncclDebugLogger_t, void **);
    ncclResult_t (*getCollInfo)(void *, ncclFunc_t, size_t, int, float **, int, int, int, int *);
    ncclResult_t (*destroy)(void *);
};
struct v5 { /* and 6, whose getChunkSize comes last and may be NULL */
    const char *name;
    ncclResult_t (*init)(void **, uint64_t, size_t, size_t, ncclDebugLogger_t, Domains *, Constants *);
    ncclResult_t (*getCollInfo)(void *, ncclFunc_t, size_t, int, float **, int, int, int, int *);
    ncclResult_t (*finalize)(void *);
    ncclResult_t (*getChunkSize)(void *, ncclFunc_t, size_t, int, int, int, size_t *);
};

static void logger(ncclDebugLogLevel level, unsigned long flags, const char *file, int line, const char *format, ...)
{
    va_list arguments;

    (void)level, (void)flags, (void)file, (void)line;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

int main(int count, char **words)
{
    if (count != 6)
        return 64;
    int version = atoi(words[2]), ignored = atoi(words[5]);
    size_t ranks = strtoull(words[3], NULL, 10), nodes = strtoull(words[4], NULL, 10);
    char symbol[32];
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL), *context = NULL;

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", version);
    const void *plugin = dlsym(library, symbol);

    if (plugin == NULL)
        return 2;
    const struct v3 *three = plugin;
    const struct v4 *four = plugin;
    const struct v5 *five = plugin;
    Domains domains = {1, 8, 8};
    Constants constants = {0}, before = {0};
    ncclResult_t result = version >= 5 ? five->init(&context, 7, ranks, nodes, logger, &domains, &constants)
                                       : three->init(ranks, nodes, logger, &context);

    if (result != ncclSuccess || memcmp(&constants, &before, sizeof before) != 0)
        return 3;
    if (version == 6 && five->getChunkSize != NULL)
        return 4;
    int collective;
    uint64_t bytes;

    while (scanf("%d %" SCNu64, &collective, &bytes) == 2) {
        float costs[ALGORITHMS][PROTOCOLS];
        int channels = 0, algorithm = -1, protocol = -1;

        for (int a = 0; a < ALGORITHMS; a++)
            for (int p = 0; p < PROTOCOLS; p++)
                costs[a][p] = a == ignored ? -1.0f : 100.0f + (float)a;
        costs[1][2] = 50.0f;
        result = version == 3
                     ? three->getCollInfo(context, (ncclFunc_t)collective, bytes, 1, (float **)costs, ALGORITHMS,
                                          PROTOCOLS, &channels)
                     : four->getCollInfo(context, (ncclFunc_t)collective, bytes, 1, (float **)costs, ALGORITHMS,
                                         PROTOCOLS, 0, &channels);
        if (result != ncclSuccess)
            return 5;
        for (int a = 0; a < ALGORITHMS; a++)
            for (int p = 0; p < PROTOCOLS; p++)
                if (costs[a][p] >= 0 && (algorithm < 0 || costs[a][p] < costs[algorithm][protocol]))
                    algorithm = a, protocol = p;
        printf("%d %d %d\n", algorithm, protocol, channels);
    }
    result = version >= 5 ? five->finalize(context) : three->destroy(context);
    printf("%s\n", three->name);
    return result == ncclSuccess && dlclose(library) == 0 ? 0 : 6;
}
