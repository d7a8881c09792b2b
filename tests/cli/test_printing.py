"""Tables and paragraphs of a report, as the terminal shows them."""

import pytest

from winosmith import report
from winosmith.cli._output import print_blocks


def test_terminal_and_page_format_numbers_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = ["word", report.Column("of them right", ".1%"), "z"]
    table = report.Table("Words", columns, [["less", 6 / 7, 1.5], ["more", None, 2.0]])
    print_blocks([table])
    printed = capsys.readouterr().out
    assert "        85.7\xa0%   1.500" in printed
    assert "85.7\xa0%" in report.render_page("Words", [report.Section("Words", [table])])


def test_control_characters_in_paragraphs_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_blocks(
        [report.Text(["a [red] \x1b[31mred\x1b[0m id"]), report.Text(["\x1b]0;x"], "list")]
    )
    printed = capsys.readouterr().out
    assert "a [red] \\x1b[31mred" in printed
    assert "\x1b" not in printed
