# SPDX-License-Identifier: Apache-2.0
"""Runs where pygnmi is installed: FOLDER-OF-THIS-FILE ADDRESS of a switch that reflects, with ports 1 and 2."""

import sys

sys.path.insert(0, sys.argv[1])

from pygnmi.client import gNMIclient, gNMIException
from wire import ethernet, expect, send

_, _, address = sys.argv
ADMIN = "/interfaces/interface[name=2]/state/admin-status"
ENABLED = "/interfaces/interface[name=2]/config/enabled"
FRAME = ethernet(1, src=0x02_00_00_00_00_01)  # the same with its addresses exchanged
COUNTERS = "/interfaces/interface[name=1]/state/counters"


def values(answer):
    return {u["path"]: u["val"] for n in answer["notification"] for u in n["update"]}


def subscription(kind, path, **fields):
    return {"subscription": [{"path": path, **fields}], "mode": kind, "encoding": "proto"}


with gNMIclient(target=(address, None), insecure=True) as client:
    known = client.capabilities()
    assert known["supported_encodings"] == ["json", "json_ietf", "proto"], known
    assert "openconfig-interfaces" in {model["name"] for model in known["supported_models"]}, known
    for encoding in known["supported_encodings"]:
        assert values(client.get(path=[ADMIN], encoding=encoding)) == {ADMIN[1:]: "UP"}, encoding
    send(1, FRAME)
    expect(1, FRAME)
    counted = values(client.get(path=[COUNTERS], encoding="json_ietf"))[COUNTERS[1:]]
    assert counted["openconfig-interfaces:in-unicast-pkts"] == "1", counted
    tree = values(client.get(path=["/interfaces"], encoding="json"))["interfaces"]
    assert [entry["name"] for entry in tree["interface"]] == ["1", "2"], tree

    changes = client.subscribe_stream(subscribe=subscription("stream", ADMIN, mode="on_change"))
    heard = [changes.get_update(timeout=10)["update"]["update"][0]["val"]]
    client.set(update=[(ENABLED, False)], encoding="json_ietf")
    heard.append(changes.get_update(timeout=10)["update"]["update"][0]["val"])
    client.set(delete=[ENABLED])
    heard.append(changes.get_update(timeout=10)["update"]["update"][0]["val"])
    assert heard == ["UP", "DOWN", "UP"], heard
    try:
        client.get(path=["/system"])
        sys.exit("/system was answered")
    except gNMIException:
        pass
    once = list(client.subscribe(subscribe=subscription("once", COUNTERS)))
    assert (len(once), once[-1].sync_response) == (2, True), once
sys.stdout.write("done\n")
sys.stdout.flush()
