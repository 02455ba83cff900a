# SPDX-License-Identifier: Apache-2.0
"""Applications that only YAML describes, with data and functions of the user's: every answer is compared.

What answers are compared with is the same function in another process: a function that is wrong everywhere is not seen.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from offramp.leo.applications.compare import running
from offramp.leo.applications.named import open_application
from offramp.leo.devices.code import load_code
from offramp.leo.selection import Policy
from offramp.leo.store.build import source_root
from offramp_base.errors import OfframpError
from offramp_cli.app import app

APPLICATION = """
paths:
  - {id: cc, type: CPU-CPU}
  - {id: ca, type: CPU-Acc}
application:
  name: words
  data:
    corpus: {file: corpus.txt}
    table: {array: table.npy}
    steps: {values: [1, 2, 3, 500], type: int32}
  requests:
    COUNT:
      messages: corpus
      dataflows: [[cc], [ca]]
      size: {cc: {req: 400, resp: 8}, ca: {req: 400, resp: 8}}
      compute_us: {responder: {cpu: 30, acc: 20}}
      functions: {responder: {cpu: COUNT, acc: COUNT}}
    TURN:
      messages: corpus
      dataflows: [[cc], [ca]]
      size: {cc: {req: 64, resp: 64}, ca: {req: 64, resp: 64}}
      compute_us: {responder: {cpu: 30, acc: 20}}
      functions: {responder: {cpu: TURNED, acc: TURNED}}
    LOAD:
      data: table
      dataflows: [[cc]]
      size: {cc: {req: 12, resp: 256}}
      compute_us: {cpu: 0}
    STEPS:
      data: steps
      dataflows: [[cc]]
      size: {cc: {req: 12, resp: 16}}
      compute_us: {cpu: 0}
    PACK:
      messages: corpus
      data: table
      dataflows: [[cc]]
      size: {cc: {req: 400, resp: 32}}
      compute_us: {requester: {cpu: 40}, responder: {cpu: 0}}
      functions: {requester: {cpu: compress}}
"""
PYTHON = '''
def NAME(message):
    """How many words there are."""
    return len(message.split()).to_bytes(8, "little")
'''


@pytest.fixture
def folder(tmp_path, request):
    """The application's files; functions have names of their own in each test, since a process knows them for ever."""
    count, turned = (f"{word}_{abs(hash(request.node.name))}" for word in ("count", "turned"))
    text = APPLICATION.replace("cpu: COUNT, acc: COUNT", f"cpu: {count}, acc: {count}")
    (tmp_path / "words.yaml").write_text(text.replace("TURNED", turned))
    (tmp_path / "words.py").write_text(PYTHON.replace("NAME", count))
    (tmp_path / "corpus.txt").write_text("the quick brown fox jumps over the lazy dog " * 40)
    np.save(tmp_path / "table.npy", np.arange(1000, dtype=np.float32))
    source = (source_root() / "examples" / "reverse.c").read_text().replace('"reverse"', f'"{turned}"')
    flags = ["-shared", "-fPIC", f"-I{source_root() / 'include'}", "-x", "c", "-"]
    subprocess.run(["gcc", *flags, "-o", str(tmp_path / "turn.so")], input=source, text=True, check=True)
    return tmp_path


def files(folder):
    return [str(folder / "words.yaml"), "off-path"]


def codes(folder):
    return (str(folder / "words.py"), str(folder / "turn.so"))


def ended(application, seconds=0.2):
    with running(application) as run:
        outcome, _ = run(application.paths, {}, Policy.UNIFORM, 1, None, seconds)
    assert outcome.sent > 50
    return outcome


@pytest.mark.full
def test_data_and_functions_of_the_user(folder):
    outcome = ended(open_application(files(folder), devices={}, code=codes(folder)))
    assert outcome.wrong == 0
    assert (outcome.by_path > 0).all()


def test_reads_return_the_data(folder):
    """The message of a read asks for a part, and what the model expects is that part."""
    from offramp.leo.applications.generic import Mapped
    from offramp.leo.config import load_config, resolve

    load_code(codes(folder))
    mapped = Mapped(resolve(load_config(files(folder)), guess=True))
    table = np.arange(1000, dtype=np.float32).tobytes()
    flow = mapped.resolved.flows.index(next(f for f in mapped.resolved.flows if f.trips[0].id == "cc"))
    values = [mapped.expected("LOAD", flow, variant)[0] for variant in range(16)]
    assert len(set(values)) == 16
    assert all(len(part) == 256 and part in table for part in values)
    assert mapped.expected("STEPS", flow, 3)[0] == np.array([1, 2, 3, 500], np.int32).tobytes()


@pytest.mark.full
@pytest.mark.parametrize("what", ["byte", "function"])
def test_what_is_wrong_at_the_responder_is_seen(folder, what):
    application = open_application(files(folder), devices={}, code=codes(folder))
    content = bytearray(application.plan.content)
    if what == "byte":
        content[content.index(np.float32(999).tobytes())] ^= 1
    else:  # the responder loads the file anew
        text = (folder / "words.py").read_text().replace("len(message.split())", "(len(message.split()) + 1)")
        (folder / "words.py").write_text(text)
    outcome = ended(replace(application, plan=replace(application.plan, content=bytes(content))))
    assert 0 < outcome.wrong < outcome.sent


def test_a_function_that_raises_is_named(folder):
    text = (folder / "words.py").read_text().replace("return", "raise KeyError(3)\n    return")
    (folder / "words.py").write_text(text)
    application = open_application(files(folder), devices={}, code=codes(folder))
    with pytest.raises(OfframpError, match=r"COUNT: count_\d+ refuses its message of 400 bytes: failed"):
        application.workload(1)


@pytest.mark.full
def test_commands_take_code(folder):
    codes_given = [word for path in codes(folder) for word in ("--code", path)]
    for words in (["validate"], ["run", "--seconds", "0.1", "--rounds", "1"]):
        result = CliRunner().invoke(app, ["leo", words[0], *files(folder), *words[1:], *codes_given])
        assert result.exit_code == 0, (result.output, result.exception)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("functions: {requester: {cpu: compress}}", "functions: {requester: {cpu: shrink}}"),
         "words.yaml:40: application.requests.PACK.functions.requester.cpu: shrink: no such function; expected one of"),
        (("corpus.txt}", "none.txt}"), "words.yaml:8: application.data.corpus: "),
        (("table.npy", "corpus.txt"), "words.yaml:9: application.data.table: "),
        (("500], type: int32", "500], type: int8"), "application.data.steps: values beyond int8"),
        (("data: table\n", "data: chair\n"), "no such data; expected one of corpus, table, steps"),
        (("{file: corpus.txt}", "{file: corpus.txt, array: table.npy}"), "expected one of file, array, values"),
    ],
)  # fmt: skip
def test_validate_refuses(folder, change, line):
    text = (folder / "words.yaml").read_text()
    assert change[0] in text
    (folder / "words.yaml").write_text(text.replace(*change))
    given = [word for path in codes(folder) for word in ("--code", path)]
    result = CliRunner().invoke(app, ["leo", "validate", *files(folder), *given])
    assert result.exit_code != 0
    assert line in result.output + str(result.exception)


@pytest.mark.parametrize("name", ["../secret.npy", "{outside}/secret.npy", "link.npy", "below/../../secret.npy"])
@pytest.mark.parametrize("field", ["file: corpus.txt", "array: table.npy"])
def test_data_outside_of_the_folder_are_refused_unless_one_is_named(tmp_path_factory, folder, name, field):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "words").mkdir()
    for file in folder.iterdir():
        file.rename(outside / "words" / file.name)
    inside = outside / "words"
    np.save(outside / "secret.npy", np.arange(300, dtype=np.int64))
    (inside / "link.npy").symlink_to(outside / "secret.npy")
    (inside / "below").mkdir()
    named = name.format(outside=outside)
    text = (inside / "words.yaml").read_text()
    (inside / "words.yaml").write_text(text.replace(field, f"{field.split()[0]} {named}"))
    with pytest.raises(OfframpError, match=rf"application\.data\.\w+: {named}: lies outside the folder of the YAML"):
        open_application(files(inside), devices={}, code=codes(inside))
    given = [word for path in codes(inside) for word in ("--code", path)]
    refused = CliRunner().invoke(app, ["leo", "serve", *files(inside), *given, "--listen", "127.0.0.1:0"])
    assert "lies outside the folder" in refused.output + str(refused.exception)
    taken = CliRunner().invoke(app, ["leo", "validate", *files(inside), *given, "--data-folder", str(outside)])
    assert taken.exit_code == 0, (taken.output, taken.exception)


def test_functions_are_unknown_without_their_code(folder):
    result = CliRunner().invoke(app, ["leo", "validate", *files(folder)])
    assert result.exit_code != 0
    assert "no such function; expected one of" in result.output + str(result.exception)


def test_data_that_are_too_short(folder):
    text = (folder / "words.yaml").read_text().replace("resp: 16}", "resp: 17}")
    (folder / "words.yaml").write_text(text)
    with pytest.raises(OfframpError, match=r"STEPS\.size: 17 B, but steps has 16 B"):
        open_application(files(folder), devices={}, code=codes(folder))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.py", "x = 1", "expected functions of one parameter"),
        ("b.py", "def echo(message): return message", "function echo: this name is taken already"),
        ("c.py", "def f(:", "SyntaxError"),
        ("d.so", "no library", "d.so"),
        ("none.so", None, "no such file"),
        ("none.py", None, "No such file"),
    ],
)
def test_code_that_cannot_be_loaded(tmp_path, name, text, line):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(OfframpError, match=line):
        load_code([tmp_path / name])


@pytest.mark.parametrize("words", [["--code", "x.py"], ["--data-folder", "x.py"]])
def test_named_applications_take_no_code_and_no_data(words):
    result = CliRunner().invoke(app, ["leo", "run", "kvs", *words])
    assert f"{words[0]} x.py: kvs has " in result.output + str(result.exception)
    result = CliRunner().invoke(app, ["leo", "serve", *words])
    assert f"{words[0]} x.py: expected with an application" in result.output + str(result.exception)
