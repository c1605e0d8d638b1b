"""The tables of the bench: load has its spread, its times and both processor times."""

from __future__ import annotations

from bench.report import report
from bench.rounds import Pair, Round, Rounds
from bench.table import Row, written
from bench.wrk import Answers


def rounds(*rates: float) -> Rounds:
    return Rounds([Round(Answers(rate, 0.001, 0.02, 0.3, 1000, 0.25), 0.5) for rate in rates])


LOADED = Pair(rounds(120, 100, 180), rounds(400, 300, 200), "bare").rates("creates", "≥ 0.3 ×")
PLAIN = Row("start", 1.5, "s", 0.5, "bare", "≤ 1.5 s")


def test_a_line_of_load_has_median_spread_times_and_processor() -> None:
    assert LOADED.cells() == (
        "creates",
        "120 (100 to 180)",
        "300 (200 to 400)  bare",
        "0.4 ×",
        "≥ 0.3 ×",
        "1 / 20 / 300",
        "1 / 20 / 300",
        "0.5 + 0.25",
        "0.5 + 0.25",
    )


def test_the_line_of_late_answers_is_in_ms() -> None:
    row = Pair(rounds(1), rounds(2), "bare").times("creates, p99")
    assert row.cells()[1:4] == ("20 ms (20 to 20)", "20 ms (20 to 20)  bare", "1 ×")


def test_other_lines_stand_in_a_table_of_their_own() -> None:
    load, plain = written([PLAIN, LOADED]).split("\n\n")
    assert len(load.splitlines()) == len(plain.splitlines()) == 2
    assert load.splitlines()[1].startswith("creates")
    assert plain.splitlines()[1].split() == [
        *("start", "1.5", "s", "0.5", "s", "bare", "3", "×", "≤", "1.5", "s")
    ]


def test_the_page_has_both_tables_in_markdown() -> None:
    page = report([PLAIN, LOADED], "a note")
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert [line.count(" | ") for line in lines] == [8, 8, 8, 4, 4, 4]
    assert page.endswith("a note")
