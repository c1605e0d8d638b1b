"""Who sells by an application: given when it is created, shown, changed and removed."""

from __future__ import annotations

import pytest

from bot.core.brand import COLOURS
from tests.support.command_line import run_bot

pytestmark = pytest.mark.usefixtures("commands_url")

PROFILE = (
    *("--image-url", "https://i.example/a.png", "--contact", "@anna_bakes"),
    *("--accent-color", "teal", "--description", "Bread since 1987"),
)
SHOWN = [
    "imageUrl:     https://i.example/a.png",
    "contact:      @anna_bakes",
    "accentColor:  teal",
    "description:  Bread since 1987",
]


def create(*options: str) -> str:
    done = run_bot("apps", "create", "shop", *options, code=0)
    return done.stdout.splitlines()[0].partition("=")[2]


def shown(app_id: str, *options: str) -> list[str]:
    done = run_bot("apps", "seller", app_id, *options, code=0)
    return done.stdout.splitlines()


def test_an_application_without_the_options_has_no_seller() -> None:
    app_id = create()
    assert shown(app_id) == ["name:         -"]


def test_a_new_application_may_name_its_seller() -> None:
    """By default the seller's name is the application's."""
    assert shown(create(*PROFILE)) == ["name:         shop", *SHOWN]
    assert shown(create("--seller-name", "Anna's Bakery")) == ["name:         Anna's Bakery"]


def test_an_option_left_out_stays_and_an_empty_one_is_removed() -> None:
    app_id = create(*PROFILE)
    assert shown(app_id, "--name", "Anna") == ["name:         Anna", *SHOWN]
    assert shown(app_id, "--contact", "") == ["name:         Anna", SHOWN[0], *SHOWN[2:]]
    assert shown(app_id, "--clear") == shown(app_id) == ["name:         -"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--contact", "anna"), "contact: must be an @username of Telegram"),
        (("--image-url", "a.png"), "imageUrl: is no whole address"),
        (("--name", "a" * 101), "name: has more than 100 characters"),
        (("--name", ""), "name: must be a string"),
        (("--description", "a\nb"), "description: has control characters"),
        (("--contact", "@anna_bakes"), "seller.name: is required: there is none yet"),
        (("--clear", "--name", "Anna"), "--clear removes everything: leave the other options out"),
    ],
)
def test_the_rules_are_those_of_the_interface(options: tuple[str, ...], message: str) -> None:
    refused = run_bot("apps", "seller", create(), *options)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith(message)


def test_an_unknown_colour_is_answered_with_all_of_them() -> None:
    refused = run_bot("apps", "create", "shop", "--accent-color", "black", code=2)
    assert all(name in refused.stderr for name in COLOURS)


def test_a_seller_that_does_not_fit_creates_no_application() -> None:
    run_bot("apps", "create", "shop", "--contact", "anna", code=1)
    assert run_bot("apps", "list", "--json").stdout == ""


def test_an_unknown_application_is_reported() -> None:
    create()
    for options in ((), ("--name", "Anna"), ("--clear",)):
        refused = run_bot("apps", "seller", "nobody", *options)
        assert (refused.exit_code, refused.stderr) == (1, "There is no application nobody.\n")


def test_the_help_names_every_option() -> None:
    message = run_bot("apps", "seller", "--help").stdout
    assert [name for name in (*PROFILE[::2], "--name", "--clear") if name not in message] == []
