# SPDX-License-Identifier: Apache-2.0
"""bmv2's public interface against ours: every method and every command is carried out, or said to be lacking and why.

``interface.txt`` holds the names, taken from bmv2's files outside the repository. Blind spot: types of arguments.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp_p4.frontend import load
from offramp_p4.tm.config import QueueConfig, TmConfig
from offramp_p4_tools.bmv2.write import bmv2_text
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from offramp_p4_tools.dropin.thrift.commands import COMMANDS
from offramp_p4_tools.dropin.thrift.commands import LACKING as LACKING_COMMANDS
from offramp_p4_tools.dropin.thrift.protocol import CALL, ThriftMessage, ThriftReader, ThriftWriter
from offramp_p4_tools.dropin.thrift.server import ThriftServer
from offramp_p4_tools.dropin.thrift.services import (
    LACKING,
    SERVICES,
    STRUCTS,
    Method,
    RequestRefused,
    RequestUnsupported,
)
from thrift_switch import answers, serving

HERE = Path(__file__).parent
SOURCE = HERE / "control_plane.p4"
NAMES = [line.split() for line in (HERE / "interface.txt").read_text().splitlines() if not line.startswith("#")]
METHODS = [(service, name) for service, name in NAMES if service != "command"]
BMV2_COMMANDS = {name for service, name in NAMES if service == "command"}
COMMANDS_OF_THE_PROMPT = {"EOF", "help", "exit", "quit"}

pytestmark = pytest.mark.p4


@pytest.fixture
def server() -> Iterator[ThriftServer]:
    with serving(SOURCE, swap=True) as server:
        yield server


@pytest.fixture
def client(server: ThriftServer) -> Iterator[ThriftClient]:
    with ThriftClient("127.0.0.1", server.port) as client:
        yield client


def _zero(kind: str) -> object:
    if kind.startswith(("list<", "map<")):
        return [] if kind.startswith("list") else {}
    if kind in STRUCTS:
        return {name: _zero(inner) for _, name, inner in STRUCTS[kind] if inner not in STRUCTS}
    return {"string": "", "binary": b"", "bool": False, "double": 0.0}.get(kind, 0)


def test_every_method_of_bmv2_is_answered(client: ThriftClient) -> None:
    assert sorted(METHODS) == sorted((service, name) for service, methods in SERVICES.items() for name in methods)
    assert set(LACKING) <= {name for _, name in METHODS}
    unsupported: dict[str, str] = {}
    for service, name in METHODS:
        method: Method = SERVICES[service][name]
        arguments = {field: _zero(kind) for _, field, kind in method.arguments if field != "cxt_id"}
        try:
            client.call(service, name, **arguments)
        except RequestRefused:
            pass  # the values name nothing
        except RequestUnsupported as error:
            unsupported[name] = str(error)
    assert not [message for message in unsupported.values() if "no such method" in message]
    assert {name for name, message in unsupported.items() if "this switch lacks it" in message} == set(LACKING)


def test_an_unknown_method_is_told_apart_from_one_that_is_lacking(server: ThriftServer, client: ThriftClient) -> None:
    with pytest.raises(RequestUnsupported, match="bm_serialize_state: this switch lacks it: "):
        client.call("standard", "bm_serialize_state")
    writer = ThriftWriter(STRUCTS)
    writer.message(ThriftMessage("standard:bm_fly", CALL, 1))
    writer.fields((), {})
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(writer.data)
        reader = ThriftReader(STRUCTS, connection.recv)
        reader.message()
        fault = reader.fields(((1, "message", "string"), (2, "type", "i32")))
    assert fault == {"message": "bm_fly: bmv2 has no such method", "type": 1}


def test_every_command_of_bmv2_is_answered(client: ThriftClient) -> None:
    ours = set(COMMANDS) | set(LACKING_COMMANDS)
    assert ours == BMV2_COMMANDS - COMMANDS_OF_THE_PROMPT
    assert not set(COMMANDS) & set(LACKING_COMMANDS)
    for name in sorted(ours):
        (answer,) = answers(client, name)
        assert "Unknown syntax" not in answer
    shell, unknown, learned = answers(client, "shell ls", "fly away", "serialize_state /dev/null")
    assert shell == "Error: shell: this command line lacks it: run it in a shell of your own\n"
    assert unknown == "*** Unknown syntax: fly away\n"
    assert learned == "Error: bm_serialize_state: this switch lacks it: no state is saved or restored\n"


def test_swap(server: ThriftServer, client: ThriftClient, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(bmv2_text(load(HERE.parent / "runtime" / "features.p4")))
    before = server.pipeline
    early, loaded, twice, running, swapped, shown, again = answers(
        client,
        "swap_configs",
        f"load_new_config_file {other}",
        f"load_new_config_file {other}",
        "table_num_entries I.flows",
        "swap_configs",
        "table_add I.flows to 1 => 1",
        "swap_configs",
    )
    assert early == "Swapping configs\nInvalid swap operation (NO_ONGOING_SWAP)\n"
    assert loaded == "Loading new Json config\n"
    assert twice.endswith("Invalid swap operation (ONGOING_SWAP)\n")
    assert running == "Invalid table operation (INVALID_TABLE_NAME)\n"
    assert swapped == "Swapping configs\n"
    assert shown.endswith("Entry has been added with handle 0\n")
    assert again.endswith("Invalid swap operation (NO_ONGOING_SWAP)\n")
    assert server.pipeline is not before


def test_a_program_that_is_refused_is_not_swapped_in(client: ThriftClient, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    document = json.loads(bmv2_text(load(SOURCE)))
    document["pipelines"][0]["name"] = "x"
    wrong.write_text(json.dumps(document))
    loaded, swapped, missing = answers(
        client, f"load_new_config_file {wrong}", "swap_configs", f"load_new_config_file {tmp_path}/none"
    )
    assert "no pipeline 'ingress'" in loaded
    assert swapped.endswith("Invalid swap operation (NO_ONGOING_SWAP)\n")
    assert missing == "Error: Not a valid filename\n"


def test_swaps_have_to_be_enabled() -> None:
    with serving(SOURCE) as server, ThriftClient("127.0.0.1", server.port) as client:
        assert answers(client, "swap_configs") == ["Swapping configs\nInvalid swap operation (CONFIG_SWAP_DISABLED)\n"]


@pytest.mark.parametrize("engine", ["python", "native"])
def test_custom_hashes(engine: str) -> None:
    frame = bytes.fromhex("31323334" + "00" * 16)
    with serving(SOURCE, engine=engine) as server, ThriftClient("127.0.0.1", server.port) as client:
        changed, again, name, kind, toeplitz, wide = answers(
            client,
            "set_crc32_parameters calc_0 0x1edc6f41 0xffffffff 0xffffffff true true",
            "set_crc16_parameters calc 0x1021 0xffff 0 false false",
            "set_crc32_parameters no 1 1 1 true true",
            "set_crc32_parameters calc 1 1 1 true true",
            "set_toeplitz_hash_key calc 01020304",
            "set_crc16_parameters calc 0x18005 0 0 true true",
        )
        hashes = {c["name"]: c["algo"] for c in json.loads(client.call("standard", "bm_get_config"))["calculations"]}
        assert hashes == {"calc": "crc16_custom", "calc_0": "crc32_custom"}
        assert changed == again == ""
        assert name == "Error: Invalid crc32_custom name (no)\n"
        assert kind == "Error: Invalid crc32_custom name (calc)\n"
        assert toeplitz == "Invalid Toeplitz hash operation (WRONG_TYPE_CALCULATION)\n"
        assert wide == "Error: Integer cannot fit within 16 bits\n"
        ((_, sent),) = server.pipeline.switch.process_one(1, frame)
        assert "f63af4ee" in sent.hex()  # CRC-32C of "1234"
        assert "5349" in sent.hex()  # CRC-16/IBM-3740 of it
        answers(client, "reset_state")
        assert server.pipeline.switch.process_one(1, frame) == [(1, sent)]  # bmv2's reset leaves hashes as they are


@pytest.mark.parametrize("engine", ["python", "native"])
def test_queues_take_the_depth_that_is_set(engine: str) -> None:
    """Queues are counted like P4's ``priority``, in bmv2 and here: the lowest is 0."""
    tm = TmConfig.uniform(queues=3, queue=QueueConfig(limit_packets=64))
    ports = {1: "udp:127.0.0.1:0", 2: "udp:127.0.0.1:0"}
    with serving(SOURCE, tm=tm, ports=ports, engine=engine) as server:
        with ThriftClient("127.0.0.1", server.port) as client:
            *done, rate, far = answers(
                client,
                "set_queue_depth 9",
                "set_queue_depth 5 1",
                "set_queue_depth 1 2 0",
                "set_queue_rate 100",
                "set_queue_depth 5 1 3",
            )
        assert done == ["", "", ""]
        assert rate.startswith("Error: set_all_egress_queue_rates: this switch lacks it: ")
        assert far == "Error: priority 3 of port 1: expected 0 to 2\n"
        switch = server.pipeline.switch
        queues = switch.queued.tm  # type: ignore[union-attr]
        depths = {port: [queues.queue(port, n).config.limit_packets for n in range(3)] for port in (1, 2)}
        assert depths == {1: [5, 5, 5], 2: [1, 9, 9]}


def test_a_switch_without_queues_has_no_depth_to_set(client: ThriftClient) -> None:
    assert answers(client, "set_queue_depth 9 1") == ["Error: this switch runs without queues\n"]


def test_ports_come_and_go_while_packets_run(server: ThriftServer, client: ThriftClient) -> None:
    running = server._running
    loop = threading.Thread(target=running.forward)
    loop.start()
    try:
        with contextlib.ExitStack() as stack:
            host = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            host.bind(("127.0.0.1", 0))
            host.settimeout(20)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
                free.bind(("127.0.0.1", 0))
                at = free.getsockname()
            port = f"udp:127.0.0.1:{at[1]}"
            added, twice, path, shown = answers(
                client, f"port_add {port} 3", f"port_add {port} 3", "port_add unix:/tmp/x 4", "show_ports"
            )
            assert added == ""
            assert twice == path == "Invalid device manager operation (ERROR)\n"
            assert f"{3:^10}" in shown
            host.sendto(bytes(12) + bytes(20), at)
            assert len(host.recv(2000)) == 32
            removed, gone, none = answers(client, "port_remove 3", "port_remove 3", "port_remove 9")
            assert removed == ""
            assert gone == none == "Invalid device manager operation (ERROR)\n"
            assert 3 not in running.ports
    finally:
        running.stop()
        loop.join()
