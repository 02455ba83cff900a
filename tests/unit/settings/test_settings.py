# SPDX-License-Identifier: Apache-2.0
"""One declaration makes checks, files, JSON Schema and options; every refusal says where the value came from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner, Result

from offramp_base.errors import OfframpError
from offramp_base.settings.check import check
from offramp_base.settings.document import read_settings
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.schema import json_schema
from offramp_base.settings.units import BYTES, MEBIBYTES
from offramp_cli import result
from offramp_cli.app import app
from offramp_cli.command import command
from offramp_cli.tree import OFFRAMP, SIMULATE, CommandGroup
from offramp_p4.settings import parse_port

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Run:
    epochs: Annotated[int, Field("Steps", least=1, most=100, group="Training")] = 60
    lr: Annotated[float, Field("Learning rate", above=0)] = 0.01
    model: Annotated[str, Field("Model", choices={"gcn": "", "gat": "attention"})] = "gcn"
    memory: Annotated[int | None, Field("Memory", least=1, unit=BYTES, aliases=("ram",))] = None
    timeout_s: Annotated[float, Field("Seconds", key="timeout", above=0)] = 60.0
    masks: Annotated[bool, Field("Masks")] = True
    save: Annotated[str | None, Field("Weights", written=True)] = None
    out: Annotated[Path, Field("Figures", filled=True)] = Path("figures")
    policy: Annotated[tuple[str, ...], Field("Policies; repeat", choices=("fifo", "fair"))] = ()

    def __post_init__(self) -> None:
        check(self)
        if self.timeout_s > 99 and self.epochs > 50:
            raise SettingsError("timeout_s", "expected up to 99 with {epochs} above 50", self.timeout_s)
        if not self.masks and self.model != "gat":
            raise SettingsError("masks", "goes with {model} gat only", self.masks)


SEEN: list[Run] = []


@command(Run, result.Result, example="run --epochs 3")
def run(settings: Run, output: result.Result) -> None:
    """Run something."""
    SEEN.append(settings)
    typer.echo("for people")
    output.write("test.run/1", {"epochs": settings.epochs})


APP = typer.Typer()
APP.command(epilog=run.epilog)(run)


def invoke(*arguments: str) -> Result:
    done = CliRunner().invoke(APP, list(arguments), env={"COLUMNS": "200"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs 0: expected 1 to 100"),
        ({"lr": float("nan")}, "lr nan: expected more than 0"),
        ({"lr": float("inf")}, "lr inf: expected more than 0"),
        ({"model": "gin"}, "model gin: expected one of gcn, gat"),
        ({"timeout_s": 100.0}, "timeout_s 100: expected up to 99 with epochs above 50"),
        ({"masks": False}, "masks false: goes with model gat only"),
        ({"policy": ("fifo", "best")}, "policy best: expected one of fifo, fair"),
        ({"model": "a\n{epochs}"}, r"model a\n{epochs}: expected one of gcn, gat"),
    ],
)
def test_the_domain_speaks_of_fields(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Run(**values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "101"], "--epochs 101: expected 1 to 100"),
        (["--memory", "4XB"], "--memory 4XB: expected a size such as 4MB, 512KiB or 4096"),
        (["--ram", "0"], "--memory 0: expected at least 1"),
        (["--timeout", "100"], "--timeout 100: expected up to 99 with --epochs above 50"),
        (["--no-masks"], "--no-masks: goes with --model gat only"),
        (["--save", "nowhere/w.npz"], "--save nowhere/w.npz: cannot be written: No such file or directory"),
        (["--out", f"{__file__}/a/b"], f"--out {__file__}/a/b: cannot be written: Not a directory"),
        (["--json", "nowhere/r.json"], "--json nowhere/r.json: cannot be written: No such file or directory"),
    ],
)
def test_the_command_speaks_of_flags(arguments: list[str], message: str) -> None:
    SEEN.clear()
    with pytest.raises(OfframpError) as caught:
        invoke(*arguments)
    assert str(caught.value) == message
    assert not SEEN


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.yaml", "lr: 0.1\nepochs: 0\n", "2: epochs 0: expected 1 to 100"),
        ("run.toml", "lr = 0.1\n\nepochs = 0\n", "3: epochs 0: expected 1 to 100"),
        ("run.yaml", "epochs: 3\nepocs: 4\n", "2: epocs: no such field; the nearest is epochs"),
        ("run.toml", "[training]\nepochs = 3\n", "1: training: no such field; the nearest is timeout"),
        ("run.yaml", "epochs: many\n", "1: epochs many: expected a whole number"),
        ("run.yaml", "masks: 1\n", "1: masks 1: expected true or false"),
        ("run.yaml", "memory: 4XB\n", "1: memory 4XB: expected a size such as 4MB, 512KiB or 4096"),
        ("run.yaml", "policy: fifo\n", "1: policy fifo: expected a list of text"),
        ("run.yaml", "lr: .nan\n", "1: lr nan: expected a number"),
        ("run.yaml", "lr: 1\ntimeout: 100\n", "2: timeout 100: expected up to 99 with --epochs above 50"),
        ("run.yaml", "- epochs\n", "1: expected a key and a value in each line"),
        ("run.yaml", "epochs: [\n", "2: not YAML: expected the node content, but found '<stream end>'"),
        ("run.toml", 'model = """\nepochs = 0\n"""\n', "1: model epochs = 0\\n: expected one of gcn, gat"),
        ("run.toml", 'x = """\nlr = 0\n"""\nlr = 0\n', "1: x: no such field; the nearest is timeout"),
    ],
)
def test_a_file_is_named_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(OfframpError) as caught:
        invoke("--settings", str(path))
    assert str(caught.value) == f"{path}:{message}"


def test_values_of_a_file_and_options_before_them(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("epochs: 3\nmemory: 4MiB\npolicy: [fifo]\ntimeout: 2\n")
    assert read_settings(path, [Run])["memory"].value == 4 << 20
    SEEN.clear()
    invoke("--settings", str(path), "--epochs", "5", "--policy", "fair")
    assert [Run(epochs=5, memory=4 << 20, policy=("fair",), timeout_s=2.0)] == SEEN
    path.write_text("")
    invoke("--settings", str(path))
    assert SEEN[-1] == Run()


def test_a_value_given_by_option_is_refused_as_an_option(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("epochs: 3\n")
    with pytest.raises(OfframpError, match=r"^--epochs 0: expected 1 to 100$"):
        invoke("--settings", str(path), "--epochs", "0")


def test_json_goes_to_a_file_or_to_standard_output_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert invoke("--epochs", "2", "--json", str(path)).stdout == "for people\n"
    alone = invoke("--epochs", "2", "--json", "-")
    assert json.loads(alone.stdout) == json.loads(path.read_text()) == {"schema": "test.run/1", "epochs": 2}
    assert alone.stderr == "for people\n"


def test_help_has_groups_choices_ranges_and_an_example() -> None:
    shown = invoke("--help").stdout
    for text in ("─ Training ─", "Steps (1 to 100).", "gcn | gat (attention)", "Example: offramp run --epochs 3"):
        assert text in shown
    assert "--ram" not in shown


def test_a_shell_completes_choices() -> None:
    environment = {"_ROOT_COMPLETE": "complete_bash", "COMP_WORDS": "root --model g", "COMP_CWORD": "2"}
    done = CliRunner().invoke(APP, [], prog_name="root", env=environment)
    assert done.stdout.split() == ["gcn", "gat"]


def test_the_schema_says_what_a_file_may_hold() -> None:
    schema = json_schema("run", [Run])
    assert schema["additionalProperties"] is False
    assert schema["properties"]["epochs"] == {
        "description": "Steps", "type": "integer", "minimum": 1, "maximum": 100, "default": 60,
    }  # fmt: skip
    assert schema["properties"]["model"]["enum"] == ["gcn", "gat"]
    assert schema["properties"]["memory"]["type"] == ["integer", "string", "null"]
    assert schema["properties"]["policy"]["items"] == {"type": "string", "enum": ["fifo", "fair"]}
    assert "timeout" in schema["properties"]


def leaves(group: CommandGroup, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, one in group.members.items():
        if isinstance(one, CommandGroup):
            yield from leaves(one, (*words, name))
        if not isinstance(one, CommandGroup) or one.itself:
            yield (*words, name)


@pytest.mark.full
def test_every_command_has_a_schema_and_help() -> None:
    commands = list(leaves(OFFRAMP))
    assert {("train",), ("train", "dgs"), ("plan",), ("switch", "run")} < set(commands)
    for words in commands:
        done = CliRunner().invoke(app, ["schema", *words])
        assert json.loads(done.stdout)["title"] == f"offramp {' '.join(words)}"
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).stdout
        assert "Example: offramp " in shown
        described = [line for line in shown.splitlines() if "Usage: " not in line]
        assert not re.search(r"\{[a-z_ ]+\}", "\n".join(described)), words  # a name that was not filled in
    refused = CliRunner().invoke(app, ["schema", "switch"])
    assert str(refused.exception) == "words switch: expected the words of a command"


def test_older_names_of_systems_work_and_are_not_shown() -> None:
    for older, name in (("coflow models", "hermod models"), ("simulate placement list", "simulate dgtp list")):
        assert CliRunner().invoke(app, older.split()).stdout == CliRunner().invoke(app, name.split()).stdout
    assert not {"coflow", "placement"} & {word for group in (OFFRAMP, SIMULATE) for word in group.members}


@dataclass(frozen=True)
class ParsedParts:
    """Fields whose texts have forms of their own: of numbers, and of a kind that only text becomes."""

    fanout: Annotated[tuple[int, ...], Field("", parse=lambda text: tuple(map(int, text.split(","))))] = (1,)
    formats: Annotated[
        tuple[complex, ...], Field("", parse=lambda text: tuple(complex(each) for each in text.split(",")))
    ] = ()


@pytest.mark.each
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fanout: 3", ParsedParts((3,))),
        ("fanout: [3, 4]\nformats: 1+2j", ParsedParts((3, 4), (1 + 2j,))),
        ("formats: [1+2j, 3j]", ParsedParts(formats=(1 + 2j, 3j))),
        ("formats: []", ParsedParts()),
        ("formats: {a: 1}", "expected text"),
    ],
)
def test_a_file_may_list_what_the_command_line_has_in_one_word(text: str, expected: object, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    if isinstance(expected, str):
        with pytest.raises(OfframpError, match=f"run.yaml:1: formats .*: {expected}"):
            read_settings(path, (ParsedParts,))
    else:
        values = {name: each.value for name, each in read_settings(path, (ParsedParts,)).items()}
        assert ParsedParts(**values) == expected
    schema = json_schema("parts", (ParsedParts,))["properties"]
    assert schema["formats"]["type"] == ["array", "string"]
    assert schema["formats"]["items"] == {"type": "string"}


def test_options_are_declared_in_one_place() -> None:
    guilty = [
        str(path)
        for package in ("base", "switch", "host", "sim", "cli")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "command.py" and re.search(r"typer\.(Option|Argument)\b", path.read_text(encoding="utf-8"))
    ]
    assert guilty == []


@dataclass(frozen=True)
class Links:
    ports: Annotated[Mapping[int, str], Field("NUMBER@LINK", key="interface", item=parse_port)] = field(
        default_factory=dict
    )
    memory: Annotated[int, Field("Memory", unit=MEBIBYTES, least=1 << 20)] = 1 << 30
    no_p4: Annotated[bool, Field("Without a program")] = False

    def __post_init__(self) -> None:
        check(self)


@command(Links, example="links")
def links(settings: Links) -> None:
    """Links."""
    LINKS.append(settings)


LINKS: list[Links] = []


def parsed(*arguments: str) -> Links:
    alone = typer.Typer()
    alone.command()(links)
    done = CliRunner().invoke(alone, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return LINKS[-1]


def test_a_repeated_option_makes_a_mapping(tmp_path: Path) -> None:
    wanted = Links(ports={1: "veth1", 2: "unix:/tmp/b"}, memory=2 << 20, no_p4=True)
    given = ("--interface", "1@veth1", "--interface", "2@unix:/tmp/b", "--memory", "2", "--no-p4")
    assert parsed(*given) == wanted
    path = tmp_path / "links.yaml"
    path.write_text("interface: [1@veth1, '2@unix:/tmp/b']\nmemory: 2\nno_p4: true\n")
    assert parsed("--settings", str(path)) == wanted
    assert parsed("--memory", "2MiB", "--interface", "1@a", "--interface", "1@a").ports == {1: "a"}
    properties = json_schema("links", [Links])["properties"]
    assert properties["interface"]["items"] == {"type": "string"}
    assert (properties["memory"]["minimum"], properties["memory"]["default"]) == (1, 1024)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--interface", "1@a", "--interface", "1@b"], "--interface: 1 is given twice: a and b"),
        (["--interface", "x"], "--interface x: expected NUMBER@LINK, such as 1@veth1 or 1@unix:/tmp/port1"),
        (["--memory", "0.5"], "--memory 524288: expected at least 1MiB"),
        (["--memory", "2x"], "--memory 2x: expected a size such as 512MiB or 4GB, or a number of MiB"),
    ],
)
def test_items_of_a_mapping_are_refused_by_their_flag(arguments: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        parsed(*arguments)
    assert str(caught.value) == message


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"plot r\.txt: expected a name that ends in \.png, \.svg or \.pdf"):
        result.Plotted(plot=Path("r.txt"))
    monkeypatch.setattr(result, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match="plot: needs the package matplotlib"):
        result.Plotted(plot=Path("r.png"))


@pytest.mark.parametrize(
    ("bounds", "within", "beyond"),
    [
        ({"least": 2}, (2, 3), (1.999,)),
        ({"most": 2}, (2, -3), (2.001,)),
        ({"above": 2}, (2.001,), (2, 1)),
        ({"below": 2}, (1.999,), (2, 3)),
        ({}, (0,), (float("inf"), float("-inf"), float("nan"))),
    ],
)
def test_bounds_of_a_field(bounds, within, beyond) -> None:
    held = Field("A number", **bounds)
    assert all(held.holds(number) for number in within)
    assert not any(held.holds(number) for number in beyond)
