"""Draw mutants: `python mutations.py TREE SEED NUMBER` prints them as JSON.

Runs in an environment of its own (requirements.in), which has cosmic-ray. Its operators change
Python; ours change SQL in strings, drop calls, and negate `in`. A hash of the seed and of its own
line chooses a mutant, so that a change elsewhere draws the same ones.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import re
import sys
from abc import abstractmethod
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeAlias

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider

THEMES = {
    "stock": ["service/checkouts/inventory.py"],
    "checkouts": ["service/checkouts/*.py"],
    "idempotency": ["service/requests/idempotency.py", "chat/payments/create_*.py"],
    "rate limits": [
        "service/api/rate_limits.py", "core/net/rates.py", "service/rails/host_calls.py",
        "core/outbox/host_budgets.py", "core/outbox/lanes.py",
    ],
    "digests": ["chat/cards/alerts.py", "core/outbox/groups.py"],
    "leases": ["core/outbox/*.py"],
    "amounts": ["core/money/*.py", "chat/forms/shares_and_amounts.py", "core/database/database.py"],
    "signatures": [
        "core/signing.py", "chat/payments/webhook.py", "service/notifications/webhooks.py",
        "core/database/vault.py",
    ],
    "redirects": [
        "core/text/links.py", "core/net/http_client.py", "core/net/guarded_transport.py",
        "core/net/webhook_addresses.py",
    ],
    "quiet hours": ["chat/cards/schedule.py", "chat/model/moments.py", "chat/model/zones.py"],
    "refunds": ["service/payments/*.py", "chat/store/payment_marks.py"],
    "codes": ["service/goods/*.py"],
    "erasure": ["core/erasure.py", "app/maintenance/p*.py"],
    "access": [
        "service/api/callers.py", "service/requests/app*.py",
        "chat/conversation/event_context.py", "chat/store/seller_rows.py",
    ],
}  # fmt: skip
"""The modules of each theme, below bot/. A module belongs to the first theme that names it."""

KEPT = re.compile(
    r"ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_FloorDiv|FloorDiv_Mul|BitOr_BitAnd|BitAnd_BitOr)"
    r"|ReplaceComparisonOperator_(Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is)"
    r"|ReplaceUnaryOperator_Delete_(Not|USub)|Replace(True|False|And|Or|Break|Continue)With\w+"
    r"|AddNot|NumberReplacer|ZeroIterationForLoop"
)
"""The operators of cosmic-ray that make faults a programmer makes; `+` never becomes `<<`."""

LARGEST_NUMBER = 100
"""A larger number is a limit or a time whose next value differs in nothing that a user sees."""


Node: TypeAlias = parso.tree.NodeOrLeaf
Position: TypeAlias = tuple[int, int]
"""Line and column."""

Edit: TypeAlias = tuple[int, int, str]
"""Start and end within the text of a node, and what to write there."""


def text_of(node: Node) -> str:
    text: str = node.get_code(include_prefix=False)
    return text


class TextOperator(Operator):  # type: ignore[misc]
    """An operator that edits the text of a node."""

    @abstractmethod
    def edits(self, node: Node) -> Iterator[Edit]: ...

    def mutation_positions(self, node: Node) -> Iterator[tuple[Position, Position]]:
        for start, end, _ in self.edits(node):
            text = text_of(node)
            yield _moved(node.start_pos, text[:start]), _moved(node.start_pos, text[:end])

    def mutate(self, node: Node, index: int) -> Node:
        text = text_of(node)
        start, end, written = list(self.edits(node))[index]
        prefix = node.get_first_leaf().prefix
        return parso.python.tree.Name(text[:start] + written + text[end:], node.start_pos, prefix)

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _moved(position: Position, over: str) -> Position:
    line, column = position
    *lines, last = over.split("\n")
    return line + len(lines), len(last) if lines else column + len(last)


class Negate(TextOperator):
    """`in` becomes `not in`, and the reverse."""

    def edits(self, node: Node) -> Iterator[Edit]:
        if node.parent and node.parent.type == "comparison":
            text = text_of(node)
            if text in {"in", "not in"}:
                yield 0, len(text), "in" if text == "not in" else "not in"


class CatchNothing(TextOperator):
    """`except` with `()` catches nothing."""

    def edits(self, node: Node) -> Iterator[Edit]:
        if node.parent and node.parent.type == "except_clause" and node is node.parent.children[1]:
            yield 0, len(text_of(node)), "()"


class DropCall(TextOperator):
    """A call for its effect becomes `pass`."""

    def edits(self, node: Node) -> Iterator[Edit]:
        if node.type == "atom_expr" and node.parent.type == "simple_stmt":
            text = text_of(node)
            if text.endswith(")"):
                yield 0, len(text), "pass"


SQL = re.compile(
    r"\b(SELECT|UPDATE|INSERT|DELETE|WHERE|SET|AND|OR|NULL|WHEN|EXISTS|ORDER BY|ON CONFLICT)\b"
    r"|[<>=+-] :[a-z]\w*"
)
SWAPS = (
    (r"(?<![<>=!|-])<(?![<>=])", "<="), (r"<=", "<"), (r"(?<![<>=!|-])>(?![<>=])", ">="),
    (r">=", ">"), (r"<>", "="), (r"(?<= )\+(?= )", "-"), (r"(?<= )-(?= )", "+"),
    (r"\bASC\b", "DESC"), (r"\bDESC\b", "ASC"), (r"\bMIN\(", "MAX("), (r"\bMAX\(", "MIN("),
    (r"\bIS NULL\b", "IS NOT NULL"), (r"\bIS NOT NULL\b", "IS NULL"), (r"\bNOT EXISTS\b", "EXISTS"),
    (r"ON CONFLICT[^{}]*?DO NOTHING", ""), (r"\bORDER BY due_at, id\b", "ORDER BY id"),
)  # fmt: skip
CONDITION = re.compile(r"\b(WHERE|AND|OR|WHEN|ON)\s+(?!CONFLICT\b)")
CONDITION_ENDS = re.compile(
    r"\b(AND|OR|THEN|ORDER|GROUP|RETURNING|LIMIT|UNION|FOR|ELSE|END|WHERE|WHEN)\b|[)\";,]"
)
EQUAL = re.compile(r" = ")


class ChangeSql(TextOperator):
    """A guard in a statement is dropped, or compares or adds something else."""

    def edits(self, node: Node) -> Iterator[Edit]:
        if node.type not in {"string", "fstring"} or node.parent.type == "simple_stmt":
            return
        text = text_of(node)
        if not SQL.search(text):
            return
        for pattern, written in SWAPS:
            for match in re.finditer(pattern, text):
                if not _is_inside(text, match.start()):
                    yield match.start(), match.end(), written
        for match in CONDITION.finditer(text):
            start, end = match.end(), _condition_end(text, match.end())
            condition = text[start:end].rstrip()
            is_range = re.search(r"BETWEEN \S+ $", text[: match.start()])
            if is_range or not re.search(r"\w", condition) or _is_inside(text, start):
                continue
            yield start, start + len(condition), "1 = 0" if match[1] == "OR" else "1 = 1"
            if equal := EQUAL.search(condition):
                yield start + equal.start(), start + equal.end(), " <> "


def _is_inside(text: str, at: int) -> bool:
    """True if a place in a string belongs to an expression in braces."""
    return text.count("{", 0, at) > text.count("}", 0, at)


def _condition_end(text: str, start: int) -> int:
    """Return where a condition ends: at the next word of SQL that is not within brackets."""
    depth = 0
    for at in range(start, len(text)):
        if depth == 0 and CONDITION_ENDS.match(text, at):
            return at
        depth += (text[at] in "({") - (text[at] in ")}")
    return len(text)


provider = OperatorProvider()
OPERATORS: dict[str, Operator] = {
    **{name: provider[name]() for name in provider if KEPT.fullmatch(name)},
    **{each.__name__: each() for each in (CatchNothing, ChangeSql, DropCall, Negate)},
}


LOG = re.compile(r"_?log\.\w+\(|if TYPE_CHECKING")


def _is_noise(node: Node) -> bool:
    """True if no test could see a fault here: annotations, decorators, logs, large numbers."""
    if node.type == "number" and ast.literal_eval(node.value) > LARGEST_NUMBER:
        return True
    if node == "|" and node.search_ancestor("funcdef") is None:
        return True  # a union of types
    while node.parent is not None:
        before = node.get_previous_sibling()
        if node.type in {"tfpdef", "decorator", "assert_stmt"}:
            return True
        if node.type in {"atom_expr", "if_stmt"} and LOG.match(text_of(node)):
            return True
        if before == "->" or (before == ":" and node.parent.type == "annassign"):
            return True
        node = node.parent
    return False


def _places(module: str, source: str) -> dict[str, list[tuple[str, int, int]]]:
    """Return the faults of each place in a module: operator, occurrence, line.

    A place is named by its module, its definition, its line, and its column there, so that the name
    stays when other lines change.
    """
    nodes = list(ast_nodes(get_ast(source)))
    lines = source.split("\n")
    found = [
        (start, end, name, occurrence, node)
        for name, operator in OPERATORS.items()
        for occurrence, (node, start, end) in enumerate(
            (node, *place) for node in nodes for place in operator.mutation_positions(node)
        )
        if not _is_noise(node)
    ]
    places: dict[str, list[tuple[str, int, int]]] = {}
    found.sort(key=lambda fault: fault[:2])
    for (start, end), group in groupby(found, key=lambda fault: fault[:2]):
        faults = list(group)
        line = lines[start[0] - 1]
        column = start[1] - len(line) + len(line.lstrip())
        size = (end[0] - start[0], end[1] - start[1])
        definition = ASTQuery(faults[0][4]).get_definition_name()
        key = f"{module}|{definition}|{line.strip()}|{column}|{size}"
        while key in places:
            key += "'"
        places[key] = [(name, occurrence, start[0]) for _, _, name, occurrence, _ in faults]
    return places


def draw(tree: Path, seed: str, number: int) -> Iterator[dict[str, object]]:
    """Yield `number` mutants, as many of each theme."""
    taken: set[Path] = set()
    for at, (theme, patterns) in enumerate(THEMES.items()):
        found = {path for pattern in patterns for path in (tree / "bot").glob(pattern)} - taken
        if not found:
            raise SystemExit(f"{theme}: no module matches {patterns}")
        taken |= found
        places = [
            (_hash(seed, key), key, path, faults)
            for path in sorted(found)
            for key, faults in _places(path.stem, path.read_text("utf-8")).items()
        ]
        mutants = (_mutant(seed, *place) for place in sorted(places))
        wanted = number // len(THEMES) + (at < number % len(THEMES))
        for mutant in islice(filter(None, mutants), wanted):
            path = Path(mutant["path"]).relative_to(tree)
            yield {**mutant, "theme": theme, "path": path.as_posix()}


def _mutant(
    seed: str, _: str, key: str, path: Path, faults: list[tuple[str, int, int]]
) -> dict[str, Any] | None:
    """Put one of the faults of a place into its module; None if it isn't Python any more."""
    choice = min(range(len(faults)), key=lambda n: _hash(seed, key, faults[n][0], str(n)))
    name, occurrence, line = faults[choice]
    source = path.read_text("utf-8")
    code = mutate_code(source, OPERATORS[name], occurrence)
    try:
        compile(code, str(path), "exec")
    except SyntaxError:
        return None
    changed = difflib.unified_diff(source.split("\n"), code.split("\n"), lineterm="", n=0)
    diff = "\n".join(list(changed)[3:])
    name = _hash(key, name, str(choice))[:8]
    return {"id": name, "path": path, "line": line, "diff": diff, "code": code} if diff else None


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


if __name__ == "__main__":
    tree, seed, number = sys.argv[1:]
    json.dump(list(draw(Path(tree), seed, int(number))), sys.stdout)
