"""What a terminal prints of a report's tables and paragraphs."""

import pytest

from winosmith import report
from winosmith.cli._output import print_blocks


def test_a_column_has_one_form_on_a_terminal_and_on_a_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A share that a page tells in percent is told in percent by a terminal, to the right."""
    columns = ["word", report.Column("of them right", ".1%"), "z"]
    table = report.Table("Words", columns, [["less", 6 / 7, 1.5], ["more", None, 2.0]])
    print_blocks([table])
    printed = capsys.readouterr().out
    assert "        85.7\xa0%   1.500" in printed
    assert "85.7\xa0%" in report.render_page("Words", [report.Section("Words", [table])])


def test_a_paragraph_prints_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """An id with escape codes or markup in it is printed with them spelled out."""
    print_blocks(
        [report.Text(["a [red] \x1b[31mred\x1b[0m id"]), report.Text(["\x1b]0;x"], "list")]
    )
    printed = capsys.readouterr().out
    assert "a [red] \\x1b[31mred" in printed
    assert "\x1b" not in printed
