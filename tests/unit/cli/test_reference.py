# SPDX-License-Identifier: Apache-2.0
"""The reference pages: every kind of line in them, word for word."""

from __future__ import annotations

from offramp_cli.reference import commands, manual, markdown


def section(words: str) -> str:
    return markdown().split(f"## {words}\n\n")[1].split("\n## ")[0]


def test_a_section_has_what_a_command_does_its_example_and_its_options() -> None:
    lines = section("offramp simulate cluster").splitlines()
    assert lines[0].startswith(("Simulate", "Run"))
    assert any(line.startswith("`Example: offramp simulate cluster") for line in lines)
    tables = [at for at, line in enumerate(lines) if line == "| Option | Default | |"]
    assert tables
    for at in tables:
        assert lines[at - 2].startswith("**")
        assert lines[at - 2].endswith("**")
        assert lines[at + 1] == "|---|---|---|"
        assert lines[at + 2].startswith("| `")
    assert any(line.startswith("| `--seed` | 0 | ") for line in lines)


def test_defaults_are_shown_as_people_type_them() -> None:
    assert "| `PATH` | required | New file, which only its owner may read (mode 0600). |" in section("offramp token")
    text = "\n".join(section(words) for words, _ in commands())
    assert "| None |" not in text
    assert "| () |" not in text
    assert "| `-" in text  # options with one letter
    hidden = [
        (words, each.key) for words, command in commands() for each in command.fields.values() if each.field.hidden
    ]
    assert all(f"`--{key.replace('_', '-')}`" not in section(words) for words, key in hidden)


def test_a_manual_page_has_its_sections_in_order_and_no_line_that_roff_would_obey() -> None:
    pages = manual()
    assert set(pages) == {f"{words.replace(' ', '-')}.1" for words, _ in commands()}
    lines = pages["offramp-token.1"].splitlines()
    assert lines[0].startswith('.TH "OFFRAMP-TOKEN" 1 "" "offramp ')
    assert [line for line in lines if line.startswith(".S")] == [
        ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLE"
    ]  # fmt: skip
    at = lines.index(".TP")
    assert lines[at + 1 : at + 4] == [
        ".B PATH", "New file, which only its owner may read (mode 0600).", "Default: required"
    ]  # fmt: skip
    assert lines[-1].startswith("offramp token job.token && scp")
    for page in pages.values():
        assert all(line.startswith((".TH ", ".SH ", ".TP", ".B ")) for line in page.splitlines() if line[:1] == ".")
        assert not any(line.startswith("'") for line in page.splitlines())
        assert "\\-\\-" in page or ".TP\n.B \\-" not in page
