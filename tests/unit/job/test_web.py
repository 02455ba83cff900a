# SPDX-License-Identifier: Apache-2.0
"""The page of ``offramp job top --web``, its metrics, and the dashboard: in Chromium, and for a real Prometheus.

Blind to other browsers; a dashboard is queried as Grafana would query it, not drawn.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from importlib.resources import files
from pathlib import Path

import pytest

import watched
from chromium import browser
from offramp.cluster.write import cluster_text
from offramp.job.metrics import METRICS, metrics
from offramp.job.steps import FOLDER, read_paths, step, tell_paths
from offramp.job.watch import PLAN, look
from offramp.job.web import server
from offramp.job.web.connections import MOST
from offramp.job.web.server import MOST_VIEWERS, listen, page
from offramp_base.errors import OfframpError
from offramp_cli.job.top import WEB, top
from watched import full_look, served

pytest.importorskip("aiohttp")
DASHBOARD = json.loads(files("offramp.job.web").joinpath("grafana.json").read_text("utf-8"))
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
NAME = re.compile(r"\bofframp_\w+")
WAIT_S = 60.0


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
        return answer.read().decode()


def test_metrics_have_every_family_once_and_parse(racks):
    text = metrics(racks, full_look(5))
    sample = re.compile(r'^(\w+)\{cluster="racks"((?:,\w+="(?:[^"\\]|\\.)*")*)\} (-?[\d.e+-]+)$')
    seen = []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            seen.append(line.split()[2])
        elif not line.startswith("#"):
            match = sample.match(line)
            assert match, line
            assert match[1] == seen[-1]
            assert tuple(re.findall(r',(\w+)="', match[2])) == METRICS[match[1]].labels
    assert seen == list(METRICS)  # the look has something of everything
    assert 'offramp_agent_requests_total{cluster="racks",agent="h1/nic"} 1005\n' in text
    assert 'offramp_agent_up{cluster="racks",agent="h2/nic"} 0\n' in text


def test_the_page_needs_nothing_from_elsewhere():
    text = page()
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "innerHTML" not in text  # what switches and programs say is text


def test_a_look_at_a_run(lab, tmp_path, monkeypatch):
    """The laboratory is real and its switches run Hermod's program; a rank and its plan are files."""
    (tmp_path / "allreduce").mkdir()
    rows = [{"offload": "allreduce", "taken": True, "step_s": 0.5, "why": "fast"}]
    (tmp_path / PLAN).write_text(json.dumps({"plan": rows}))
    monkeypatch.setenv(FOLDER, str(tmp_path / "allreduce"))
    for number in range(3):
        with step(number), step(number, "backward"):
            pass
    tell_paths({"ca": 3, "cc": 4})
    now = look(lab, tmp_path / "allreduce")
    assert all(switch.answers for switch in now.switches.values())
    assert now.ranks[0].step == 2
    assert now.plan["allreduce"].measured_s == now.ranks[0].mean_s
    assert now.paths == {0: {"ca": 3, "cc": 4}}
    (tmp_path / "allreduce" / "paths-1.json").write_text("[1]")
    assert read_paths(tmp_path / "allreduce") == {0: {"ca": 3, "cc": 4}}


def test_only_gets_and_only_by_names_of_this_machine(racks):
    with served(racks) as url:
        where = urllib.parse.urlsplit(url).netloc
        assert get(url) == page()
        look_now = json.loads(get(f"{url}/look.json"))
        assert look_now["switches"]["leaf1"]["pages"] == 30
        for method, path, host, origin, status in (
            ("POST", "/metrics", where, None, 405),
            ("GET", "/metrics", "evil.example", None, 403),
            ("GET", "/metrics", "10.0.0.1:80", None, 403),
            ("GET", "/metrics", "127.0.0.1.evil.example:80", None, 403),
            ("GET", "/metrics", where, "http://evil.example", 403),
            ("GET", "/metrics", where, "null", 403),
            ("GET", "/metrics", where, f"http://{where}", 200),
            ("GET", "/metrics", f"localhost:{where.rpartition(':')[2]}", None, 200),
            ("GET", "/../etc/passwd", where, None, 404),
        ):
            connection = http.client.HTTPConnection(where, timeout=WAIT_S)
            connection.request(method, path, headers={"Host": host} | ({"Origin": origin} if origin else {}))
            answer = connection.getresponse()
            assert answer.status == status, (method, path, host, origin)
            if status == 200:
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                assert "script-src 'sha256-" in answer.headers["Content-Security-Policy"]
            connection.close()


def test_silent_connections_end_and_do_not_keep_others_out(racks):
    """More silent and half-spoken connections than the server bears: friends are answered, and all strangers go."""
    with served(racks, silent_s=1.0) as url:
        where = urllib.parse.urlsplit(url)
        strangers = []
        for number in range(MOST + 40):
            stranger = socket.create_connection((where.hostname, where.port))
            stranger.sendall((b"", b"GET /metr", b"GET / HTTP/1.1\r\nHost: localhost\r\n")[number % 3])
            strangers.append(stranger)
        viewer = urllib.request.urlopen(f"{url}/events", timeout=WAIT_S)
        for _ in range(20):
            assert "offramp_rank_step" in get(f"{url}/metrics")
        for stranger in strangers:
            stranger.settimeout(WAIT_S)
            with contextlib.suppress(ConnectionError):
                assert stranger.recv(1) == b""
            stranger.close()
        assert viewer.readline().startswith(b"data: {")  # it has asked for something, so it is not silent
        viewer.close()


@pytest.mark.full
def test_a_viewer_that_does_not_read_leaves_its_place(racks, monkeypatch):
    monkeypatch.setattr(server, "_UNREAD_S", 0.5)
    monkeypatch.setattr(server, "MOST_VIEWERS", 1)
    with served(racks, interval_s=0.001) as url:
        where = urllib.parse.urlsplit(url)
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect((where.hostname, where.port))
            sock.sendall(f"GET /events HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
            sock.settimeout(WAIT_S)
            assert sock.recv(64).startswith(b"HTTP/1.1 200")
            deadline = time.monotonic() + WAIT_S
            while True:
                try:
                    urllib.request.urlopen(f"{url}/events", timeout=WAIT_S).close()
                    break
                except urllib.error.HTTPError as error:
                    if error.code != 503 or time.monotonic() > deadline:
                        raise
                    time.sleep(0.1)


EXHAUSTED = """
import resource, socket, sys, urllib.request
sys.path[:0] = {paths!r}
from offramp.cluster import parse_cluster
from watched import served
racks = parse_cluster({cluster!r})
with served(racks, silent_s=1.0) as url:
    urllib.request.urlopen(url + "/metrics").read()
    port = int(url.rpartition(":")[2])
    print(port, flush=True)
    taken = [open("/dev/null") for _ in range({spare})]
    used = taken[-1].fileno() + 1
    for each in taken:
        each.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, used))
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.full
def test_without_descriptors_friends_wait_and_nothing_is_printed(racks):
    """The server has descriptors for ten connections; 60 strangers are silent."""
    program = EXHAUSTED.format(paths=[str(Path(watched.__file__).parent)], cluster=cluster_text(racks), spare=10)
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        port = int(process.stdout.readline())
        assert process.stdout.readline() == "ready\n"
        strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        for _ in range(5):
            assert "offramp_rank_step" in get(f"http://127.0.0.1:{port}/metrics")
        for stranger in strangers:
            stranger.close()
        _, errors = process.communicate("", timeout=WAIT_S)
    assert process.returncode == 0, errors
    assert errors == ""


def test_viewers_are_limited_and_leave_their_places(racks):
    with served(racks) as url:
        viewers = []
        for _ in range(MOST_VIEWERS):
            viewer = urllib.request.urlopen(f"{url}/events", timeout=WAIT_S)
            assert viewer.readline().startswith(b"data: {")
            viewers.append(viewer)
        with pytest.raises(urllib.error.HTTPError, match="503"):
            get(f"{url}/events")
        viewers[0].close()
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{url}/events", timeout=WAIT_S).close()
                break
            except urllib.error.HTTPError:
                time.sleep(0.05)
        else:
            pytest.fail("a viewer that left kept its place")
        for viewer in viewers:
            viewer.close()


def test_other_machines_are_not_served():
    with pytest.raises(OfframpError, match=r"job top 0\.0\.0\.0:0: other machines reach this address"):
        listen("0.0.0.0:0")


def test_an_address_may_be_left_out():
    assert top.rewrite(["--on", "x", "--web"]) == ["--on", "x", "--web", WEB]
    assert top.rewrite(["--web", "--on", "x"]) == ["--web", WEB, "--on", "x"]
    assert top.rewrite(["--web", "[::1]:80"]) == ["--web", "[::1]:80"]


def test_the_dashboard_is_one_that_grafana_takes():
    assert DASHBOARD["schemaVersion"] >= 36
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "cluster"}
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        assert {"type", "title", "gridPos", "targets", "fieldConfig", "datasource"} <= panel.keys()
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
        assert [target["refId"] for target in panel["targets"]] == [chr(65 + n) for n in range(len(panel["targets"]))]


def test_the_dashboard_names_what_there_is_and_all_of_it():
    named = {name for expression in EXPRESSIONS for name in NAME.findall(expression)}
    assert named == set(METRICS)
    for expression in EXPRESSIONS:
        for name, chosen in re.findall(r"(\w+)\{([^}]*)\}", expression):
            labels = {"cluster", *METRICS[name].labels}
            assert set(re.findall(r"(\w+)(?:=~|!=|=)\"", chosen)) <= labels


@pytest.fixture
def prometheus(racks, tmp_path):
    """A real one, which scrapes the server of looks; its address."""
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus on PATH (make packages)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with served(racks) as url:
        target = urllib.parse.urlsplit(url).netloc
        config = {
            "global": {"scrape_interval": "200ms"},
            "scrape_configs": [{"job_name": "offramp", "static_configs": [{"targets": [target]}]}],
        }
        (tmp_path / "prometheus.yml").write_text(json.dumps(config))
        words = ["prometheus", f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'db'}"]
        words += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
        with (tmp_path / "log").open("w") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
            try:
                yield f"http://127.0.0.1:{port}", process, tmp_path / "log"
            finally:
                process.terminate()


def query(address: str, expression: str) -> list[dict]:
    text = urllib.parse.urlencode({"query": expression})
    answer = json.loads(get(f"{address}/api/v1/query?{text}"))
    assert answer["status"] == "success", answer
    return answer["data"]["result"]


@pytest.mark.full
def test_prometheus_scrapes_it_and_answers_the_dashboard(prometheus):
    address, process, log = prometheus
    deadline = time.monotonic() + WAIT_S
    wanted = 'count_over_time(offramp_rank_step{rank="0"}[1h]) > 5'
    while True:
        assert process.poll() is None, log.read_text()
        try:
            if query(address, wanted):
                break
        except OSError:
            pass
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    for expression in EXPRESSIONS:
        asked = expression.replace("$cluster", "racks").replace("$__rate_interval", "1m")
        assert query(address, asked), expression
    [moving] = query(address, 'rate(offramp_agent_requests_total{agent="h1/nic"}[1m])')
    assert float(moving["value"][1]) > 0
    kinds = json.loads(get(f"{address}/api/v1/metadata"))["data"]
    assert {name: kinds[name][0]["type"] for name in METRICS} == {name: each.kind for name, each in METRICS.items()}


SHOWN = ("leaf1", "12 of 30", "h1/nic", "no answer", "backward", "0 ca", "leaf2 3/7", "90.0 ms", "110 ms", "sends")
TOO_WIDE = "[...document.querySelectorAll('.card')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.id)"
PICTURES = os.environ.get("OFFRAMP_PICTURES")
"""A folder for pictures of the page, for people to look at."""


@pytest.mark.full
def test_the_page_in_chromium(racks, tmp_path):
    """At the width of a desk and of a telephone, light and dark: all is there, and nothing is wider than the page."""
    with served(racks) as url, browser(tmp_path) as page_there:
        for width, dark in ((1280, False), (390, False), (1280, True), (390, True)):
            page_there.open(f"{url}/", width, 900, dark=dark)
            page_there.wait("document.getElementById('state')?.textContent.startsWith('live')")
            page_there.wait("document.querySelector('.spark polyline')?.getAttribute('points').split(' ').length > 20")
            text = page_there.evaluate("document.body.innerText")
            assert [shown for shown in SHOWN if shown not in text] == []
            assert page_there.evaluate("innerWidth") == width
            assert page_there.evaluate("document.documentElement.scrollWidth") <= width
            wide = (
                "[...document.querySelectorAll('.card')].filter(it => it.scrollWidth > it.clientWidth).map(it => it.id)"
            )
            assert page_there.evaluate(wide) == []
            assert page_there.evaluate("document.querySelector('#plan b')") is None  # names are text
            assert page_there.errors == []
            if PICTURES:
                page_there.picture(Path(PICTURES) / f"top-{width}{'-dark' if dark else ''}.png")
            assert ("no such <b>way</b>" in text) == (width > 560)


@pytest.mark.full
def test_the_page_says_when_the_server_has_gone(racks, tmp_path):
    with browser(tmp_path) as page_there:
        with served(racks) as url:
            page_there.open(f"{url}/", 800, 600)
            page_there.wait("document.getElementById('state')?.textContent.startsWith('live')")
        page_there.wait("document.getElementById('state').textContent.includes('does not answer')")
