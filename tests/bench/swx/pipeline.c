/* SPDX-License-Identifier: Apache-2.0 */
/* A peer to measure: rte_swx_pipeline over Ethernet devices of DPDK's.
 *
 *   pipeline codegen SPEC CODE
 *   pipeline run LIBRARY IO SECONDS TABLE=FILE... -- DEVICE... -- EAL...
 *
 * The first writes the C code of a .spec file, which is compiled against DPDK's sources; the second runs it on one core
 * and prints packets and nanoseconds of the thread's processor time. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

enum { rounds = 1000, descriptors = 1024 };

static void fail(const char *what, const char *error) {
    fprintf(stderr, "%s: %s\n", what, error);
    exit(1);
}

static uint64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int generate(const char *spec, const char *code) {
    uint32_t line = 0;
    const char *message = "";
    FILE *from = fopen(spec, "r"), *to = fopen(code, "w");
    if (from == NULL || to == NULL) fail(spec, "cannot be read, or its code not written");
    if (rte_swx_pipeline_codegen(from, to, &line, &message) != 0) {
        fprintf(stderr, "%s:%" PRIu32 ": %s\n", spec, line, message);
        return 1;
    }
    return fclose(to);
}

static void open_device(const char *name, struct rte_mempool *buffers) {
    const struct rte_eth_conf config = {0};
    uint16_t port = 0, receiving = descriptors, sending = descriptors;
    if (rte_eth_dev_get_port_by_name(name, &port) != 0) fail(name, "no such device");
    if (rte_eth_dev_configure(port, 1, 1, &config) != 0 || rte_eth_dev_adjust_nb_rx_tx_desc(port, &receiving, &sending) != 0 ||
        rte_eth_rx_queue_setup(port, 0, receiving, 0, NULL, buffers) != 0 ||
        rte_eth_tx_queue_setup(port, 0, sending, 0, NULL) != 0 || rte_eth_dev_start(port) != 0)
        fail(name, "does not start");
}

static void fill(struct rte_swx_ctl_pipeline *control, const char *table, const char *file) {
    char line[256];
    FILE *from = fopen(file, "r");
    if (from == NULL) fail(file, "cannot be read");
    while (fgets(line, sizeof line, from) != NULL) {
        int blank = 0;
        struct rte_swx_table_entry *entry = rte_swx_ctl_pipeline_table_entry_read(control, table, line, &blank);
        if (blank) continue;
        if (entry == NULL || rte_swx_ctl_pipeline_table_entry_add(control, table, entry) != 0) fail(table, line);
    }
    fclose(from);
}

static uint64_t received(void) {
    uint64_t sum = 0;
    uint16_t port = 0;
    RTE_ETH_FOREACH_DEV(port) {
        struct rte_eth_stats stats;
        if (rte_eth_stats_get(port, &stats) == 0) sum += stats.ipackets;
    }
    return sum;
}

static int run(int argc, char **argv) {
    const char *library = argv[0], *io = argv[1];
    const double seconds = atof(argv[2]);
    int tables = 3, devices = 0, eal = 0;
    for (int i = 3; i < argc; ++i)
        if (strcmp(argv[i], "--") == 0) {
            if (devices == 0)
                devices = i + 1;
            else {
                eal = i;
                break;
            }
        }
    if (eal == 0) fail("pipeline run", "expected -- DEVICE... -- EAL...");
    if (rte_eal_init(argc - eal, argv + eal) < 0) fail("DPDK", "does not start");
    struct rte_mempool *buffers = rte_pktmbuf_pool_create("frames", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    if (buffers == NULL) fail("DPDK", "no memory");
    for (int i = devices; i < eal; ++i) open_device(argv[i], buffers);

    struct rte_swx_pipeline *pipeline = NULL;
    FILE *ports = fopen(io, "r");
    if (ports == NULL || rte_swx_pipeline_build_from_lib(&pipeline, "peer", library, ports, 0) != 0)
        fail(library, "no pipeline can be built of it");
    struct rte_swx_ctl_pipeline *control = rte_swx_ctl_pipeline_create(pipeline);
    if (control == NULL) fail(library, "no control plane");
    for (int i = tables; i < devices - 1; ++i) {
        char *equals = strchr(argv[i], '=');
        if (equals == NULL) fail(argv[i], "expected TABLE=FILE");
        *equals = 0;
        fill(control, argv[i], equals + 1);
    }
    if (rte_swx_ctl_pipeline_commit(control, 1) != 0) fail(library, "the entries cannot be added");

    const uint64_t before = received(), start = thread_ns(), end = start + (uint64_t)(seconds * 1e9);
    uint64_t now = start;
    for (; now < end; now = thread_ns())
        for (int i = 0; i < rounds; ++i) rte_swx_pipeline_run(pipeline, 1000);
    rte_swx_pipeline_flush(pipeline);
    struct rte_swx_port_out_stats out;
    uint64_t sent = 0;
    for (uint32_t port = 0; rte_swx_ctl_pipeline_port_out_stats_read(pipeline, port, &out) == 0; ++port) sent += out.n_pkts;
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", received() - before, now - start, sent);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "codegen") == 0) return generate(argv[2], argv[3]);
    if (argc > 6 && strcmp(argv[1], "run") == 0) return run(argc - 2, argv + 2);
    fail(argv[0], "expected codegen SPEC CODE, or run LIBRARY IO SECONDS TABLE=FILE... -- DEVICE... -- EAL...");
}
