# SPDX-License-Identifier: Apache-2.0
"""Texts that a program, a shell, a terminal, a browser or a file system would obey, put into files of every format."""

from __future__ import annotations

import random
import re
from typing import Any

from fuzzing import mutate

MARK = "canary"
TEXTS = (
    *(
        f"-oProxyCommand={MARK}",
        f"--{MARK}",
        f"-{MARK}",
        f"; {MARK}",
        f"$({MARK})",
        f"`{MARK}`",
        f"| {MARK}",
        f"&{MARK}",
    ),
    *(f"../../{MARK}", f"/tmp/{MARK}", f"~/{MARK}", f"a/../../{MARK}", f"x\n{MARK}", f"x\r\nX-{MARK}: 1", f"x\0{MARK}"),
    *(f"<script>{MARK}</script>", f'"><img src=x onerror={MARK}>', f"'><svg/onload={MARK}>", f"javascript:{MARK}"),
    *(
        f"</script><script>{MARK}",
        f"\x1b]0;{MARK}\x07",
        f"\x1b[31m{MARK}",
        f"\x9b31m{MARK}",
        f"\u202e{MARK}",
        f"\u2028{MARK}",
        f"\u200f{MARK}",
        f"\u061c{MARK}",
    ),
    *(f"{{{MARK}}}", "{port.__class__}", f"%{{{MARK}}}", f"%h{MARK}", f"!!python/name:os.{MARK} x", f"[red]{MARK}[/x]"),
    *(
        f'"}} 1\n{MARK} 1',
        "a\\",
        f"{MARK}[0-65535][0-65535]",
        f'a"{MARK}',
        f"a'{MARK}",
        f"a\tb{MARK}",
        f"h {MARK}",
        f"h,{MARK}",
        f"h:{MARK}:x",
    ),
)
_STRING = re.compile(r'"[^"\n]*"|[A-Za-z][A-Za-z0-9_./-]*')


def text(rng: random.Random, around: str = "") -> str:
    """A hostile text, alone or within another one."""
    hostile = rng.choice(TEXTS)
    kind = rng.randrange(4)
    return hostile if kind < 2 else f"{around}{hostile}" if kind == 2 else f"{hostile}{around}"


def in_tree(rng: random.Random, tree: Any) -> Any:
    """A copy of a tree of dictionaries and lists with a hostile text in place of one to three of its strings."""
    changed = mutate.copied(tree)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(_strings(changed))
        holder, key = rng.choice(places)
        if isinstance(holder, dict) and rng.random() < 0.1:
            holder[text(rng, str(key))] = holder.pop(key)
        else:
            holder[key] = text(rng, holder[key])
    return changed


def in_text(rng: random.Random, whole: str) -> str:
    """A copy of a text with a hostile one in place of one to three of its words."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        word = rng.choice(list(_STRING.finditer(whole)) or [re.match("", whole)])
        assert word is not None
        quoted = word[0].startswith('"')
        hostile = text(rng, word[0].strip('"'))
        whole = f"{whole[: word.start()]}{chr(34) * quoted}{hostile}{chr(34) * quoted}{whole[word.end() :]}"
    return whole


def _strings(node: Any) -> Any:
    pending = [node]
    while pending:
        holder = pending.pop()
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(value, str):
                yield holder, key
            elif isinstance(value, dict | list):
                pending.append(value)
