"""The documents agree with the code: settings, commands, addresses, links."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from PIL import Image
from starlette.routing import Match

from bot import config
from bot.chat.conversation.actions import COMMANDS
from bot.cli.commands import main
from bot.core import exact_json
from bot.core.database.database import Database
from bot.core.ops.readiness import Ops
from bot.sandbox.web.server import routes as sandbox_routes
from bot.sandbox.world.world import World
from bot.service.pages.app import create_app
from tests.support import how_to
from tests.support.service_harness import make_service

ROOT = Path(__file__).parents[1]
README, TOUR = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
DOCS = ROOT / "docs"
INDEX = DOCS / "decisions" / "README.md"
DECISIONS = sorted(set(INDEX.parent.glob("*.md")) - {INDEX})
DEPLOY = ROOT / "deploy"
CODE = ("bot", "bench", "demo_cluster", "docs", "tests")
PAGES = [README, *ROOT.glob("[CS]*.md"), *DEPLOY.glob("*.md"), *DOCS.rglob("*.md")]
BOTFATHER = {"/newbot", "/setinline", "/setinlinefeedback"}
MOST_WORDS = 600
MOST_BYTES = 200_000

EXAMPLE = re.compile(r"#([A-Z_]+)=(\S*)  # (\S.*)")
TARGET = re.compile(r"\bmake ([a-z]+)\b")
COMMAND = re.compile(r"python -m bot((?: [a-z]+)+)")
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")
MENTION = re.compile(r"\b(docs/[\w/-]+\.md)(?:#([\w-]+))?")
MODULE = re.compile(r"[\w./]+\.py\b")
ANCHOR = re.compile(r'<a id="(\d{4})"></a>')


def example() -> dict[str, str]:
    """Return the settings of .env.example with the defaults written there."""
    lines = (ROOT / ".env.example").read_text("utf-8").splitlines()
    settings = [line for line in lines if line.startswith("#") and not line.startswith("# ")]
    found = [EXAMPLE.fullmatch(line) for line in settings]
    assert all(found), "a setting is one line: #NAME=default  # meaning"
    return {match[1]: match[2] for match in found if match}


def test_env_example_lists_every_setting_in_the_order_of_the_code() -> None:
    assert list(example()) == [name.upper() for name in config.Settings.model_fields]


def test_env_example_has_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting taken in as it is written there changes nothing."""
    for name in config.Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.chdir(tmp_path)
    defaults = config.load().model_dump()
    written = (ROOT / ".env.example").read_text("utf-8")
    (tmp_path / ".env").write_text(re.sub(r"^#(?=[A-Z])", "", written, flags=re.MULTILINE), "utf-8")
    assert defaults == config.load().model_dump()
    unset = {name.upper() for name, value in defaults.items() if value in (None, "", ())}
    assert unset == {name for name, value in example().items() if not value}


def test_the_settings_of_the_readme_exist_and_have_these_defaults() -> None:
    table = re.findall(r"^\| (`[A-Z_`, ]+`) \| (.*) \|$", README.read_text("utf-8"), re.MULTILINE)
    named = [name for names, _ in table for name in re.findall(r"[A-Z_]+", names)]
    assert named
    assert set(named) <= example().keys()
    for names, meaning in table:
        for default in re.findall(r"`(.+?)`", meaning):
            assert default in {example()[name] for name in re.findall(r"[A-Z_]+", names)}


@pytest.mark.parametrize("page", [README, TOUR], ids=lambda page: page.name)
def test_every_make_target_named_exists(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    text = page.read_text("utf-8")
    named = {target for code in _code(text) for target in TARGET.findall(code)}
    assert named
    assert named <= set(targets)


def _code(text: str) -> list[str]:
    """Return the code in a page: indented lines and what is between backticks."""
    return [*re.findall(r"^    (.*)$", text, re.MULTILINE), *re.findall(r"`([^`\n]+)`", text)]


def test_every_command_of_the_readme_exists() -> None:
    named = COMMAND.findall(README.read_text("utf-8"))
    assert named
    for words in named:
        command: click.Command | None = main
        for word in words.split():
            assert isinstance(command, click.Group), words
            command = command.commands.get(word)
            assert command, words


def test_the_tour_names_every_command() -> None:
    (line,) = re.findall(r"bot/cli/ +the commands: (.*)", TOUR.read_text("utf-8"))
    assert sorted(main.commands) == sorted(line.split(", "))


def test_every_place_of_the_tour_exists() -> None:
    """Each place named exists, and each folder of the three rooms is named."""
    places = re.compile(r"^    ( *)((?:[\w./-]+(?:, )?)+)(?: {2,}|$)", re.MULTILINE)
    lines = places.findall(TOUR.read_text("utf-8"))
    tour = [(len(indent), names.split(", ")) for indent, names in lines if "make" not in names]
    room = ROOT
    named = set()
    for indent, names in tour:
        for name in names:
            place = (room if indent else ROOT) / name
            assert list(place.parent.glob(f"{place.name.rstrip('/')}")), name
            named.add(place)
        room = room if indent else ROOT / names[0]
    folders = {path.parent for path in (ROOT / "bot").rglob("__init__.py")} - {ROOT / "bot"}
    assert folders <= named


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").split()) <= MOST_WORDS


def test_the_readme_deploys_with_the_files_that_ship() -> None:
    """And what its commands and those of docs/replicas.md replace in them is there."""
    named = set(re.findall(r"deploy/([\w.-]+)", "\n".join(_code(README.read_text("utf-8")))))
    assert named == {"Caddyfile", "payment-request-bot.service"}
    assert (DEPLOY / "Caddyfile").read_text("utf-8").count("\npay.example.org {\n") == 1
    service = (DEPLOY / "payment-request-bot.service").read_text("utf-8")
    assert service.count("\nExecStart=") == 1


def test_the_readmes_picture_is_a_small_png() -> None:
    picture = ROOT / "docs" / "picture.png"
    assert picture.stat().st_size <= MOST_BYTES
    with Image.open(picture) as image:
        assert image.format == "PNG"


def test_every_address_of_the_readme_has_a_route(db: Database) -> None:
    app = create_app(make_service(db, lambda: 0, "http://pay.test"))
    routes = [*app.routes, *Ops(db, lambda: 0).router().routes, *sandbox_routes(World())]
    text = README.read_text("utf-8").replace("http://127.0.0.1:8080", "`").replace(">", "`")
    commands = {f"/{name}" for name in COMMANDS} | BOTFATHER
    named = set(re.findall(r"`(/[\w/]+)`", text)) - commands
    assert {"/docs", "/chat", "/readyz"} <= named
    for path in named:
        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        assert any(route.matches(scope)[0] is not Match.NONE for route in routes), path


def test_the_readme_shows_commands_that_are_handled() -> None:
    shown = {code.split()[0] for code in _code(README.read_text("utf-8")) if code[0] == "/"}
    assert {"/new", "/drop"} <= shown & {f"/{name}" for name in COMMANDS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_project_resolves(page: Path) -> None:
    broken = [
        (link, anchor)
        for link, anchor in LINK.findall(page.read_text("utf-8"))
        if not _resolves(page.parent / link if link else page, anchor)
    ]
    assert not broken


def test_every_document_that_the_code_mentions_exists() -> None:
    mentions = {
        (name, anchor)
        for folder in ("bot", "bench", "demo_cluster")
        for path in (ROOT / folder).rglob("*.py")
        for name, anchor in MENTION.findall(path.read_text("utf-8"))
    }
    assert mentions
    assert not [mention for mention in mentions if not _resolves(ROOT / mention[0], mention[1])]


def _resolves(path: Path, anchor: str) -> bool:
    """True if a file exists and, if an anchor is named, has it."""
    if not anchor:
        return path.exists()
    text = path.read_text("utf-8") if path.is_file() else ""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    kept = (re.sub(r"[^\w -]", "", heading.lower()) for heading in headings)
    # Numbers of decisions, and headings as GitHub makes anchors of them.
    return anchor in [*ANCHOR.findall(text), *(heading.replace(" ", "-") for heading in kept)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_a_document_names_exists(page: Path) -> None:
    """Or a block of the how-to makes it."""
    modules = [path.as_posix() for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    text = page.read_text("utf-8")
    named = {name for code in _code(text) for name in MODULE.findall(code)}
    named -= set(re.findall(r"^A new file, `(.+)`:$", text, re.MULTILINE))
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in modules)]


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_is_a_section_of_at_least_two_paragraphs(page: Path) -> None:
    """Its old numbers are anchors directly above its heading."""
    text = page.read_text("utf-8")
    _, *sections = re.split(r"^## ", ANCHOR.sub("", text), flags=re.MULTILINE)
    assert sections
    assert not [section for section in sections if section.strip().count("\n\n") < 2]
    lines = text.splitlines()
    anchors = [place for place, line in enumerate(lines) if ANCHOR.match(line)]
    assert all(lines[place + 1].startswith("## ") for place in anchors)


def test_each_number_of_a_decision_is_one_anchor() -> None:
    numbers = [number for page in DECISIONS for number in ANCHOR.findall(page.read_text("utf-8"))]
    assert numbers
    assert sorted(numbers) == sorted(set(numbers))


def test_no_file_names_a_registry_or_a_home() -> None:
    """The project builds wherever it lies, from whichever registry its machine is told to use."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git repository")
    named = re.compile(rb"--(?:extra-)?index-url|/(?:home|root)/")
    guilty = [
        name
        for name in listed.stdout.splitlines()
        if (ROOT / name).is_file() and named.search((ROOT / name).read_bytes())
    ]
    assert not guilty


def test_the_packages_of_node_are_pinned_without_an_address() -> None:
    """`npm ci` asks the registry that the machine is set to, and checks what it gets."""
    lock = exact_json.loads((ROOT / "tests/proofs/node/package-lock.json").read_bytes())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert not [name for name, package in packages.items() if "resolved" in package]


def test_requirements_contain_no_address() -> None:
    """Packages are named and hashed; where they come from is the machine's business."""
    pinned = sorted(ROOT.glob("requirements*.txt"))
    assert [path.name for path in pinned] == ["requirements-dev.txt", "requirements.txt"]
    assert not [path.name for path in pinned if "://" in path.read_text("utf-8")]


def test_the_index_names_every_page_of_decisions_with_its_title() -> None:
    listed = re.findall(r"^- \[(.+?)\]\((.+?)\): \S", INDEX.read_text("utf-8"), re.MULTILINE)
    titles = [page.read_text("utf-8").partition("\n")[0].removeprefix("# ") for page in DECISIONS]
    names = [page.name for page in DECISIONS]
    assert sorted(listed) == sorted(zip(titles, names, strict=True))


def test_a_page_that_is_followed_counts_the_files_and_lines_that_it_touches() -> None:
    """tests/e2e/test_how_to.py follows them."""
    pages = how_to.read_pages()
    assert {page.title: page.counted for page in pages} == {
        page.title: (page.files, page.lines) for page in pages
    }
    subjects = {page.title.rpartition(" ")[2] for page in pages}
    assert {"command", "button", "job", "rail", "field", "queue"} <= subjects


def test_every_block_of_a_page_fits_at_its_place(tmp_path: Path) -> None:
    pages = how_to.read_pages()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for step in (step for page in pages for step in page.steps):
        (tmp_path / step.file).parent.mkdir(parents=True, exist_ok=True)
        if step.place != "new":
            shutil.copy(ROOT / step.file, tmp_path / step.file)
    how_to.follow(pages, tmp_path)
    for command in ("check --select F", "format --check"):
        checked = subprocess.run(
            [sys.executable, "-m", "ruff", *command.split(), "--no-cache", "."],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert checked.returncode == 0, checked.stdout


def test_the_glossary_has_each_term_once_in_order() -> None:
    rows = re.findall(r"^\| (\S.*?) \| \S", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)
    terms = [term.casefold() for term in rows[1:]]
    assert terms
    assert terms == sorted(set(terms))
