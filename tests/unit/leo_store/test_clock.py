# SPDX-License-Identifier: Apache-2.0
"""A machine whose clock is set: times to live go on as they were, until the server's next start.

A library in C between the server and the kernel (``LD_PRELOAD``) adds to the clock what a file says.
"""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from store_lab import Nothing, Resp, Text, a_store, needs_compiler

_SHIFTED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) {
    static volatile long *seconds;
    if (!seconds) {
        int file = open(getenv("CLOCK_SHIFT"), O_RDONLY);
        seconds = mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    }
    return *seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += shift();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int failed = real(now, zone);
    now->tv_sec += shift();
    return failed;
}

time_t time(time_t *out) {
    static time_t (*real)(time_t *);
    if (!real) real = dlsym(RTLD_NEXT, "time");
    time_t now = real(NULL) + shift();
    if (out) *out = now;
    return now;
}
"""
HOUR = 3600


@pytest.fixture
def set_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the clock of servers that are started from now on, and while they run: so many seconds ahead of ours."""
    needs_compiler()
    library, shift = tmp_path / "shifted.so", tmp_path / "shift"
    flags = ["-shared", "-fPIC", "-O1", "-x", "c", "-", "-ldl"]
    subprocess.run(["gcc", "-o", str(library), *flags], input=_SHIFTED, text=True, check=True)
    shift.write_bytes(struct.pack("q", 0))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("CLOCK_SHIFT", str(shift))

    def change(seconds: int) -> None:
        with shift.open("r+b") as file:
            file.write(struct.pack("q", seconds))

    return change


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_clock_that_jumps_changes_nothing_until_the_next_start(
    tmp_path: Path, set_clock: Callable[[int], None], jump: int
) -> None:
    with a_store(folder=tmp_path / "data", sync="always") as store:
        with Resp(store.addresses["resp"]) as client, Text(store.addresses["memcached"]) as text:
            assert client("SET", "long", "1", "PX", 100_000) == "OK"
            assert client("SET", "for ever", "1") == "OK"
            set_clock(jump)
            assert client("GET", "long") == b"1"
            assert 60_000 < client("PTTL", "long") <= 100_000
            began = time.monotonic()
            assert client("SET", "short", "1", "PX", 400) == "OK"
            assert text(b"set text 0 1 1\r\nx\r\n") == b"STORED\r\n"
            if time.monotonic() - began < 0.3:
                assert client("GET", "short") == b"1"
            end = time.monotonic() + 20
            while client("DBSIZE") > 2 and time.monotonic() < end:  # found by the walk, not by being asked for
                time.sleep(0.02)
            assert client("DBSIZE") == 2
            assert client("GET", "short") == Nothing()
            assert abs(int(client("TIME")[0]) - time.time()) < 60
        store.kill()
        store.start()
        with Resp(store.addresses["resp"]) as client:  # times to live are absolute: the new clock counts from here
            assert client("GET", "for ever") == b"1"
            if jump > 0:
                assert client("GET", "long") == Nothing()
            else:
                assert 100_000 < client("PTTL", "long") <= 100_000 + HOUR * 1000
            assert abs(int(client("TIME")[0]) - time.time() - jump) < 60
