# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: builds strictly, with no broken link, and fits a phone, a tablet and a desktop.

Links to other hosts are not followed. Slow, and skips without ``offramp[docs]``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from chromium import browser
from offramp_cli.reference import commands, manual, markdown

ROOT = Path(__file__).parents[2]


def test_every_command_and_option_is_in_the_reference() -> None:
    page, pages = markdown(), manual()
    for words, command in commands():
        assert f"## {words}\n" in page
        text = pages[f"{words.replace(' ', '-')}.1"].replace("\\-", "-")
        for each in command.fields.values():
            name = each.key.upper() if each.field.position else "--" + each.key.replace("_", "-")
            assert each.field.hidden or (f"{name}" in page and f"{name}" in text), (words, name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_links_lead_somewhere(site: Path) -> None:
    """Every local link and anchor of every page, the generated ones too."""
    pages = {path: path.read_text() for path in site.rglob("*.html") if path.name != "404.html"}
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    broken = []
    for path, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in ids and anchor not in ids[target] and anchor != "__skip"):
                broken.append((path.relative_to(site).as_posix(), link))
    assert len(pages) > 50
    assert broken == []


@pytest.fixture
def server(site: Path) -> Iterator[str]:
    """The site on loopback: a browser reads no script of the search from files."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as http:
        thread = Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_pages_fit(server: str, tmp_path: Path, width: int) -> None:
    """No page is wider than the window; wide tables scroll by themselves."""
    pictures = os.environ.get("OFFRAMP_PICTURES")
    with browser(tmp_path) as chromium:
        for page in ("", "first-hour/ml/", "switchgnn/", "reference/commands/", "reference/python/host/"):
            address = f"{server}/{page}"
            chromium.open(address, width, 900)
            chromium.wait(f"location.href == {address!r} && document.readyState == 'complete'")
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width, page
            if pictures:
                chromium.picture(Path(pictures) / f"{page.strip('/').replace('/', '-') or 'index'}-{width}.png")
        assert chromium.errors == []
