# SPDX-License-Identifier: Apache-2.0
"""Random commands to the store and to memcached: each answer is the same, but for versions (cas) and padded numbers.

Blind to: items that memcached evicts, times between now and their expiry, meta flags that the store refuses,
appending with N, which memcached 1.6.18 refuses where there is an item.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator

import pytest

from offramp.leo.store.peers import running_peer
from store_lab import Text, a_store

KEYS = [b"key%d" % i for i in range(6)]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Text, Text]]:
    if shutil.which("memcached") is None:
        pytest.skip("memcached is not installed")
    with (
        a_store() as store,
        running_peer("memcached") as memcached,
        Text(store.addresses["memcached"]) as ours,
        Text(memcached.address) as theirs,
    ):
        yield ours, theirs


def a_text_command(rng: random.Random) -> bytes:
    key, other = rng.choice(KEYS), rng.choice(KEYS)
    value = rng.choice([b"0", b"5", b"07", b"x", b"", rng.randbytes(50), rng.randbytes(3000)])
    time = rng.choice([b"0", b"1000", b"2000000000", b"-1"])
    store = rng.choice([b"set", b"set", b"add", b"replace", b"append", b"prepend"])
    return rng.choice(
        [
            b"%b %b %d %b %d\r\n%b\r\n" % (store, key, rng.randrange(1 << 32), time, len(value), value),
            b"cas %b 1 0 %d 1\r\n%b\r\n" % (key, len(value), value),
            b"get %b\r\n" % key,
            b"get %b %b none\r\n" % (key, other),
            b"gat %b %b\r\n" % (time, key),
            b"touch %b %b\r\n" % (key, time),
            b"incr %b %d\r\n" % (key, rng.randrange(1 << 10)),
            b"decr %b %d\r\n" % (key, rng.randrange(1 << 10)),
            b"incr %b x\r\n" % key,
            b"delete %b\r\n" % key,
            b"delete %b 0\r\n" % key,
            b"nosuch\r\n",
            b"get\r\n",
            b"mn\r\n",
            b"verbosity 1\r\n",
            b"get %b\r\n" % (b"k" * 251),
        ]
    )


def a_meta_command(rng: random.Random) -> bytes:
    key = rng.choice(KEYS)
    value = rng.choice([b"0", b"7", b"x", rng.randbytes(40)])
    mode = rng.choice([b"", b" MS", b" ME", b" MA", b" MP", b" MR"])
    return rng.choice(
        [
            b"ms %b %d F%d T%d%b k O12\r\n%b\r\n"
            % (key, len(value), rng.randrange(99), rng.choice([0, 1000]), mode, value),
            b"mg %b v f s k Oab\r\n" % key,
            b"mg %b\r\n" % key,
            b"mg %b s v\r\n" % key,
            b"mg a2V5MQ== b f v s\r\n",
            b"md %b k O1\r\n" % key,
            b"ma %b v N0 J13 D%d\r\n" % (key, rng.randrange(100)),
            b"ma %b v MD D%d\r\n" % (key, rng.randrange(10)),
        ]
    )


def comparable(answer: bytes) -> bytes:
    """Numbers that memcached pads with spaces when they get shorter, without them."""
    return re.sub(rb" +\r\n", b"\r\n", answer)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_random_commands_are_answered_as_memcached_answers_them(pair: tuple[Text, Text], seed: int) -> None:
    rng = random.Random(seed)
    for each in pair:
        assert each(b"flush_all\r\n") == b"OK\r\n"
    for step in range(1500):
        command = (a_text_command if rng.random() < 0.6 else a_meta_command)(rng)
        ours, right = (each(command) for each in pair)
        if ours != right and b"decr" not in command and b"MD" not in command:
            assert comparable(ours) == comparable(right), f"step {step}: {command!r}"
        if b"decr" in command or b"MD" in command:  # the value that memcached has padded is written anew on both sides
            assert comparable(ours).split()[-1:] == comparable(right).split()[-1:], f"step {step}: {command!r}"
            key = command.split()[1]
            for each in pair:
                each(b"delete %b\r\n" % key)


def test_a_version_lets_one_writer_win(pair: tuple[Text, Text]) -> None:
    for each in pair:
        each(b"set c 0 0 1\r\na\r\n")
        version = each(b"gets c\r\n").split()[4]
        assert each(b"cas c 0 0 1 %b\r\nb\r\n" % version) == b"STORED\r\n"
        assert each(b"cas c 0 0 1 %b\r\nc\r\n" % version) == b"EXISTS\r\n"
        assert each(b"cas none 0 0 1 %b\r\nc\r\n" % version) == b"NOT_FOUND\r\n"
        version = each(b"mg c c\r\n").split()[1][1:]
        assert each(b"ms c 1 C1\r\nz\r\n").startswith(b"EX")
        assert each(b"ms c 1 C%b\r\nz\r\n" % version).startswith(b"HD")


def test_counters_wrap_and_stop_at_zero(pair: tuple[Text, Text]) -> None:
    for each in pair:
        each(b"set n 0 0 20\r\n18446744073709551615\r\n")
        assert each(b"incr n 6\r\n") == b"5\r\n"
        assert each(b"decr n 6\r\n") == b"0\r\n"
        assert each(b"incr n 18446744073709551616\r\n") == b"CLIENT_ERROR invalid numeric delta argument\r\n"


def test_quiet_commands_say_only_what_is_wrong(pair: tuple[Text, Text]) -> None:
    for each in pair:
        each.sock.sendall(b"set q 0 0 1 noreply\r\n1\r\nincr q 1 noreply\r\ndelete none noreply\r\n")
        each.sock.sendall(b"ms q2 1 q\r\nx\r\nmg none q v\r\nmn\r\n")
        assert each(b"") == b"MN\r\n"
        assert each(b"get q\r\n") == b"VALUE q 0 1\r\n2\r\nEND\r\n"


@pytest.mark.parametrize(
    "line",
    [
        *[b"set k 0 0 %b\r\n" % size for size in (b"x", b"-1", b"2147483647", b"4294967295", b"9" * 30)],
        *[b"flush_all %b\r\n" % words for words in (b"x", b"0", b"9" * 30)],
        b"cas k 0 0 x 0\r\n",
        b"ms k x\r\n",
        b"touch k x\r\n",
        b"verbosity x\r\n",
        b"gat x k\r\n",
    ],
)
def test_what_is_no_number(pair: tuple[Text, Text], line: bytes) -> None:
    ours, right = (_all(each, line + b"mn\r\n", b"MN\r\n") for each in pair)
    assert ours == right


def _all(client: Text, line: bytes, end: bytes) -> bytes:
    """Answers up to a last one."""
    client.sock.sendall(line)
    text = b""
    while not text.endswith(end):
        text += client.sock.recv(1 << 16)
    return text


def _counts(client: Text) -> dict[bytes, int]:
    words = [line.split() for line in _all(client, b"stats\r\n", b"END\r\n").split(b"\r\n")]
    return {word[1]: int(word[2]) for word in words if word[1:2] and word[1].startswith(b"cmd_")}


def test_counts_of_commands_have_memcacheds_names(pair: tuple[Text, Text]) -> None:
    more = []
    for each in pair:
        before = _counts(each)
        _all(
            each, b"flush_all\r\nset s 0 0 1\r\n1\r\nget s\r\ntouch s 0\r\nms s 1\r\n2\r\ngat 0 s\r\nmn\r\n", b"MN\r\n"
        )
        after = _counts(each)
        more.append([after[name] - before[name] for name in (b"cmd_set", b"cmd_touch", b"cmd_flush")])
        assert after[b"cmd_get"] > before[b"cmd_get"]
    assert more[0] == more[1] == [2, 2, 1]


def test_a_line_that_names_no_keys_may_not_be_long(pair: tuple[Text, Text]) -> None:
    for each in pair:
        assert each(b"get %b\r\n" % (b" k" * 1500)) == b"END\r\n"
    with Text("{}:{}".format(*pair[0].sock.getpeername())) as other:
        assert other(b"incr" + b" " * 3000) == b"CLIENT_ERROR line too long\r\n"
        assert other.sock.recv(10) == b""


@pytest.mark.parametrize("name", [b"get", b"gets"])
def test_a_line_of_keys_may_be_long(pair: tuple[Text, Text], name: bytes) -> None:
    for peer in pair:
        with Text("{}:{}".format(*peer.sock.getpeername())) as each:
            assert each(b"set several 7 0 2\r\nhi\r\n") == b"STORED\r\n"
            each.sock.sendall(name + b" several" * 20_000 + b"\r\n")
            for _ in range(20_000):
                assert each._file.readline().startswith(b"VALUE several 7 2")
                assert each._file.readline() == b"hi\r\n"
            assert each._file.readline() == b"END\r\n"


def test_a_line_has_as_many_words_as_a_command_of_redis(pair: tuple[Text, Text]) -> None:
    with Text("{}:{}".format(*pair[0].sock.getpeername())) as other:
        assert other(b"get" + b" k" * 65_535 + b"\r\n") == b"END\r\n"
        assert other(b"get" + b" k" * 65_536 + b"\r\n") == b"CLIENT_ERROR more than 65536 words\r\n"
        assert other.sock.recv(10) == b""


@pytest.mark.parametrize(
    "request_",
    [
        # The number of an item that was not stored.
        b"ms k 2 c C99\r\nio\r\n", b"ms none 2 c C9\r\nio\r\n", b"ms k 2 c ME k Oabc\r\nio\r\n",
        b"ms none 2 MR c\r\nio\r\n", b"ms none 2 MA c k\r\nio\r\n", b"ms k\r\n",
        # Words too few, one more.
        b"set k 0 0\r\n", b"set k 0 0 1 more\r\n7\r\n", b"cas k 0 0 1 99 more\r\n7\r\n", b"add k 0 0 1 more\r\n7\r\n",
        b"append k 0 0 1 more\r\n7\r\n",
    ],
)  # fmt: skip
def test_what_is_stored(pair: tuple[Text, Text], request_: bytes) -> None:
    answers = []
    for peer in pair:
        with Text("{}:{}".format(*peer.sock.getpeername())) as each:
            assert each(b"set k 0 0 1\r\n1\r\n") == b"STORED\r\n"
            each.sock.sendall(request_ + b"get k\r\nquit\r\n")
            answers.append(each._file.read())
    assert answers[0] == answers[1]


def test_data_are_never_commands(pair: tuple[Text, Text]) -> None:
    """As memcached 1.6.45 has it; 1.6.18 executes the data of these."""
    with Text("{}:{}".format(*pair[0].sock.getpeername())) as each:
        assert each(b"cas k 0 0 9\r\nflush_all\r\n") == b"CLIENT_ERROR bad command line format\r\n"
        assert each(b"set k 0 0 9 2 3\r\nflush_all\r\n") == b"STORED\r\n"
        assert each(b"get k\r\n") == b"VALUE k 0 9\r\nflush_all\r\nEND\r\n"


LONG = b"x" * ((1 << 20) + 1)


@pytest.mark.parametrize(
    "command",
    [b"set k 0 0 %d%b", b"add k 0 0 %d%b", b"replace k 0 0 %d%b", b"append k 0 0 %d%b", b"ms k %d%b", b"ms k %d ME%b"],
)
@pytest.mark.parametrize("quiet", [False, True])
def test_a_value_that_is_too_long(pair: tuple[Text, Text], command: bytes, quiet: bool) -> None:
    """It is refused in silence with noreply, and a set leaves nothing that could be taken for it."""
    meta = command.startswith(b"ms")
    answers = []
    for each in pair:
        each(b"set k 0 0 1\r\na\r\n")
        each.sock.sendall(
            command % (len(LONG), (b" q" if meta else b" noreply") if quiet else b"") + b"\r\n" + LONG + b"\r\n"
        )
        first = each(b"mn\r\n")
        answers.append((first, b"" if first == b"MN\r\n" else each(b""), each(b"get k\r\n")))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "line",
    [
        b"ma none q",
        b"ma none q k O1",
        b"ma k q C1",
        b"md none q",
        b"md k q C1",
        b"mg none q v",
        b"get k noreply",
        b"version noreply",
        b"nosuch noreply",
        b"incr none 1 noreply",
        b"incr k x noreply",
        b"touch none 0 noreply",
        b"verbosity 1 noreply",
    ],
)
def test_what_is_quiet(pair: tuple[Text, Text], line: bytes) -> None:
    answers = []
    for each in pair:
        each(b"set k 0 0 1\r\na\r\n")
        each.sock.sendall(line + b"\r\n")
        said = [each(b"mn\r\n")]
        while said[-1] != b"MN\r\n":
            said.append(each(b""))
        answers.append([re.sub(rb"VERSION .*", b"VERSION", each) for each in said])
    assert answers[0] == answers[1]
