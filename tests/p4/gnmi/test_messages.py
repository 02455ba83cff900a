# SPDX-License-Identifier: Apache-2.0
"""gNMI's messages and paths: golden bytes, written out by hand from gnmi.proto.

Blind to: fields that neither these bytes nor other clients use. By hand all fields were compared with those that
protoc makes of openconfig/gnmi's files; ours lack extensions beyond History, which are refused unread.
"""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.gnmi.paths import parse_path, path_text
from offramp_base.gnmi.schema import JSON_IETF, gnmi

pytestmark = pytest.mark.p4


def test_golden_subscribe_request() -> None:
    subscription = gnmi.Subscription(path=parse_path("/a[k=v]/b"), mode=gnmi.SubscriptionMode.Value("SAMPLE"))
    subscription.sample_interval = 1_000_000_000
    wanted = gnmi.SubscriptionList(subscription=[subscription], mode=gnmi.SubscriptionList.POLL, encoding=JSON_IETF)
    assert (
        gnmi.SubscribeRequest(subscribe=wanted).SerializeToString().hex()
        == (
            "0a22"  # subscribe {
            "121c"  # subscription {
            "0a12"  # path {
            "1a0b" + "0a0161" + "12060a016b120176"  # elem { name: a, key { k: v } }
            "1a03" + "0a0162"  # elem { name: b } }
            "1002"  # mode: SAMPLE
            "188094ebdc03"  # sample_interval }
            "2802"  # mode: POLL
            "4004"  # encoding: JSON_IETF }
        )
    )


def test_golden_values() -> None:
    assert gnmi.TypedValue(uint_val=300).SerializeToString().hex() == "18ac02"
    assert gnmi.TypedValue(json_ietf_val=b"{}").SerializeToString().hex() == "5a027b7d"
    assert gnmi.SubscribeResponse(sync_response=True).SerializeToString().hex() == "1801"
    assert gnmi.CapabilityResponse(supported_encodings=[0, 4], gNMI_version="0").SerializeToString().hex() == (
        "12020004" + "1a0130"
    )


@pytest.mark.parametrize(
    "text",
    ["/", "/a", "/a/b", "/a[k=v]/b", "/a[k=1/2]/b", r"/a[k=x\]y\\z]", "/*/.../c", "/interfaces/interface[name=*]"],
)
def test_paths_as_text_and_back(text: str) -> None:
    assert path_text(parse_path(text).elem) == text


@pytest.mark.parametrize("text", ["//", "/a//b", "/a[k]", "/a[k=v", "/a]", "[k=v]", "/a[k=v]b"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(OfframpError, match=r"^path .*: expected /NAME\[KEY=VALUE\]/NAME$"):
        parse_path(text)


def test_a_long_path_is_cut_in_messages() -> None:
    assert len(path_text(parse_path("/abc" * 10_000).elem)) < 210
