# SPDX-License-Identifier: Apache-2.0
"""gNMI messages: random ones with names of the tree, those of a client with bits changed, bytes."""

from __future__ import annotations

import json
import random
from itertools import islice
from typing import Any

from fuzzing import mutate
from gnmi_lab import Bench
from offramp_base.errors import OfframpError
from offramp_base.gnmi.paths import parse_path
from offramp_base.gnmi.schema import SUBSCRIBE, UNARY, gnmi
from offramp_p4.runtime.handlers import parse
from offramp_p4_tools.fuzz.messages import random_message
from offramp_p4_tools.gnmi.model import BY_NAMES

NAME = "gNMI messages"
_KINDS = {name: request for name, (request, _) in UNARY.items()} | {"Subscribe": SUBSCRIBE[0]}
_NAMES = ["*", "...", "", "x", *sorted({name for full in BY_NAMES for name in full})]
_VALUES: list[Any] = [True, False, None, 1, "1", "2", "9", [], {}, {"enabled": False}, {"name": "1"}]
_MOST_RESPONSES = 20


def run(rng: random.Random) -> None:
    """A switch and thirty requests, each answered or refused; an honest one is answered in the end."""
    bench = Bench((1, 2), ungated=(3,))
    for _ in range(30):
        _one(rng, bench)
    for number in bench.ports:
        path = f"/interfaces/interface[name={number}]/state/admin-status"
        assert bench.get(path) == {path: "UP" if bench.panel.enabled(number) else "DOWN"}


def _one(rng: random.Random, bench: Bench) -> None:
    name = rng.choice(["Get", "Get", "Set", "Set", "Set", "Subscribe", "Subscribe", "Capabilities"])
    data = _request(rng, name).SerializeToString()
    if rng.random() < 0.2:
        data = mutate.raw(rng, data) if rng.random() < 0.8 else mutate.noise(rng)
    try:
        request = parse(_KINDS[name], data)
        if name == "Subscribe":
            _subscribe(rng, bench, request)
        else:
            bench.service.unary(name, request)
    except OfframpError:
        return  # the next one goes to the same switch


def _subscribe(rng: random.Random, bench: Bench, request: Any) -> None:
    subscription = bench.service.subscribe(request)
    stream = request.subscribe.mode == gnmi.SubscriptionList.STREAM
    for _ in range(rng.randrange(3)):
        subscription.receive(_request(rng, "Subscribe"))
    if stream or rng.random() < 0.2:  # what there is at once; then the client goes
        subscription.finish()
    else:
        subscription.exhausted()
    list(islice(subscription, _MOST_RESPONSES))


def _request(rng: random.Random, name: str) -> Any:
    if rng.random() < 0.2:
        return random_message(rng, _KINDS[name], [0, 1])
    if name == "Get":
        return gnmi.GetRequest(
            prefix=_path(rng, 0.8), path=[_path(rng) for _ in range(3)], encoding=_few(rng), type=_few(rng)
        )
    if name == "Set":
        request = gnmi.SetRequest(prefix=_path(rng, 0.9), delete=[_path(rng) for _ in range(rng.randrange(2))])
        for field in ("replace", "update"):
            for _ in range(rng.randrange(3)):
                getattr(request, field).add(path=_path(rng), val=_value(rng))
        return request
    if name == "Subscribe":
        if rng.random() < 0.3:
            return gnmi.SubscribeRequest(poll=gnmi.Poll())
        wanted = gnmi.SubscriptionList(prefix=_path(rng, 0.9), mode=_few(rng), encoding=rng.choice([0, 2, 4, 1]))
        for _ in range(rng.randrange(4)):
            interval = rng.choice([0, 1, 10**8, 10**9, (1 << 64) - 1])
            wanted.subscription.add(
                path=_path(rng),
                mode=_few(rng),
                sample_interval=interval,
                heartbeat_interval=rng.choice([0, 0, 10**8, 3]),
            )
        return gnmi.SubscribeRequest(subscribe=wanted)
    return gnmi.CapabilityRequest()


def _few(rng: random.Random) -> int:
    """A value of an enumeration, mostly."""
    return rng.choice([0, 0, 1, 2, 3, 4, 7])


def _path(rng: random.Random, empty: float = 0.1) -> Any:
    """A path into the tree, or past it."""
    if rng.random() < empty:
        return gnmi.Path(origin=rng.choice(["", "openconfig", "cli"]) if rng.random() < 0.1 else "")
    full = rng.choice(list(BY_NAMES))
    path = parse_path("/" + "/".join(full[: rng.randrange(len(full) + 1)]))
    for element in path.elem:
        if rng.random() < 0.1:
            element.name = rng.choice(_NAMES)
        if element.name == "interface" and rng.random() < 0.8:
            element.key["name"] = rng.choice(["1", "2", "3", "*", "9", ""])
        elif rng.random() < 0.03:
            element.key[rng.choice(_NAMES)] = "1"
    return path


def _value(rng: random.Random) -> Any:
    if rng.random() < 0.5:
        return gnmi.TypedValue(bool_val=rng.random() < 0.5)
    text = json.dumps(_json(rng))
    whole = mutate.text(rng, text) if rng.random() < 0.2 else text
    return gnmi.TypedValue(json_ietf_val=whole.encode("utf-8", "replace"))


def _json(rng: random.Random, depth: int = 4) -> Any:
    """JSON in the form of the tree, mostly."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(_VALUES)
    if rng.random() < 0.3:
        return [_json(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {rng.choice([*_NAMES, "openconfig-interfaces:config", "y:z"]): _json(rng, depth - 1) for _ in range(2)}
