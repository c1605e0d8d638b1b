"""The tool itself: which faults it makes, and which tests it tries them with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from coverage import CoverageData

from tests.mutants.reach import Reach
from tests.support.locked_environments import cache_folder, environment

HERE = Path(__file__).parent

SOURCE = '''
from x import y

SQL = f"UPDATE t SET n = n + 1 WHERE id = :id AND {y} AND (n <= 5 OR n IS NULL)"

def f(x: int | None = None) -> int | None:
    """Return x, WHERE it is > 5 AND < 6."""
    log.info("x", n=1)
    if x not in y and x > 1000:
        g(x)
    return x
'''
FAULTS = {
    "n = n - 1",
    "WHERE 1 = 1 AND {y}",
    "WHERE id <> :id",
    "AND 1 = 1 AND (",
    'AND 1 = 1"',
    "(n < 5 OR",
    "OR 1 = 0)",
    "n IS NOT NULL",
    "if not x not in y",
    "if x in y",
    "in y or x",
    "x >= 1000",
    "        pass",
}


@pytest.mark.process
def test_faults_are_made_in_code_and_sql_but_not_in_words_and_types() -> None:
    program = (
        "import json, sys, mutations; from cosmic_ray.mutating import mutate_code as mutate;"
        "text = sys.stdin.read(); places = mutations._places('m', text).values();"
        "made = [mutate(text, mutations.OPERATORS[n], o) for p in places for n, o, _ in p];"
        "print(json.dumps(made))"
    )
    python = environment(HERE / "requirements.txt", cache_folder())
    command = [python, "-c", program]
    printed = subprocess.run(
        command, input=SOURCE, cwd=HERE, capture_output=True, text=True, check=True
    )
    made = json.loads(printed.stdout)
    assert [fault for fault in FAULTS if not any(fault in code for code in made)] == []
    assert len(made) == len(FAULTS)


def test_a_fault_is_tried_with_the_tests_that_run_its_line_or_use_its_name(tmp_path: Path) -> None:
    """A line outside of functions runs at the import, so its users count; the own room is first."""
    rooms = {
        "bot/core/money.py": "_LEAST = 5\nMOST = _LEAST * 2\ndef check(x):\n    return x < MOST\n",
        "bot/chat/forms.py": "from core import money\ndef read(x):\n    return x + money.MOST\n",
    }
    for path, text in rooms.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    tests = {
        "tests/core/test_money.py::test_slow": ({"bot/core/money.py": [1, 2, 3, 4]}, 2.0),
        "tests/core/test_money.py::test_quick": ({"bot/core/money.py": [4]}, 1.0),
        "tests/chat/test_forms.py::test_read": ({"bot/chat/forms.py": [3]}, 0.5),
        "tests/chat/test_forms.py::test_other": ({"bot/chat/forms.py": [1, 2]}, 0.1),
    }
    data = CoverageData(str(tmp_path / "data"))
    for name, (lines, _) in tests.items():
        data.set_context(f"{name}|run")
        data.add_lines(lines)
    data.write()
    cases = [
        f'<testcase classname="{name.partition(".py")[0].replace("/", ".")}"'
        f' name="{name.partition("::")[2]}" time="{seconds}"/>'
        for name, (_, seconds) in tests.items()
    ]
    (tmp_path / "junit.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    reach = Reach(tmp_path, tmp_path / "data", tmp_path / "junit.xml")
    slow, quick, read, _ = tests
    assert [name for name, _ in reach.tests("bot/core/money.py", 4)] == [quick, slow]
    assert [name for name, _ in reach.tests("bot/core/money.py", 1)] == [quick, slow, read]
    assert reach.tests("bot/chat/forms.py", 1) == []
