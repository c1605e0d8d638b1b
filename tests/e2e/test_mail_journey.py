"""Email over the whole product to a real mail server: to sellers, to payers without Telegram."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio

from tests.support.asgi_server import make_tls
from tests.support.form_questions import question_of
from tests.support.free_ports import free_port
from tests.support.mail import SENDER, MailServerStub, link, mail_server, plain
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    app_headers,
    create_application,
    patient_client,
    run_command,
    running_product,
    started_bot,
    until,
)
from tests.support.raw_payers import REQUESTS_PATH
from tests.support.sellers_and_payers import (
    Seller,
    labels,
    link_of,
    pay,
    seller_with_destination,
)
from tests.support.web_payers import SPACES, WebPayer, buyer, said, shown, waited

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


SHARED_LOOP = pytest.mark.asyncio(loop_scope="module")
QUESTION = question_of("ask-goods")
PASSWORD = "geheim p@ss:w/rd"
ACCOUNT = ("shop@example.org", PASSWORD)
SETTLED = "SELECT COUNT(*) FROM outbox WHERE queue IN ('mails', 'receipts') AND state = 'done'"
TRIED = "SELECT COUNT(*) FROM delivery_attempts"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def post() -> AsyncIterator[MailServerStub]:
    async with mail_server() as it:
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    post: MailServerStub, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Start the whole product with that mail server."""
    mail = {"SMTP_URL": f"smtp://127.0.0.1:{post.port}", "SMTP_FROM": SENDER}
    async with running_product(tmp_path_factory.mktemp("running"), **mail) as both:
        yield both


def letters_to(post: MailServerStub, address: str) -> list[EmailMessage]:
    return [letter for letter in post.letters if letter["To"] == address]


async def arrived(post: MailServerStub, address: str, number: int) -> EmailMessage:
    """Wait for so many letters to an address; the last of them."""

    async def all_here() -> bool:
        return len(letters_to(post, address)) >= number

    await until(all_here, PATIENCE)
    found = letters_to(post, address)
    assert len(found) == number
    return found[-1]


@SHARED_LOOP
async def test_an_address_named_in_the_chat_gets_letters_once_its_holder_confirms(
    world: World, run: Process, post: MailServerStub
) -> None:
    address = "anna@example.org"
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    await sam.edit(card)
    await sam.press(card, "Payment emails", question_of("ask-email"))
    await sam.say(address, "Saved")
    question = await arrived(post, address, 1)
    assert "Coffee" not in plain(question)
    await shown(sam, card, f"{address} isn't confirmed yet")
    for _ in range(2):
        assert (await pay(link_of(card))).status_code == 303
    confirm = run.url + link(question, "confirm", run.url)
    async with patient_client() as reader:
        assert "Confirm" in (await reader.get(confirm)).text
        assert len(letters_to(post, address)) == 1
        assert "Address confirmed" in (await reader.post(confirm)).text
        summary = await arrived(post, address, 2)
        assert summary["Subject"] == "2 payments received"
        await sam.refresh(card, f"Payments are also emailed to {address} (confirmed")
        stop = run.url + link(summary, "stop", run.url)
        await reader.post(stop, data={"List-Unsubscribe": "One-Click"})
    await pay(link_of(card))
    await sam.refresh(card, "has unsubscribed from payment emails")
    assert len(letters_to(post, address)) == 2


async def ticket(sam: Seller) -> Message:
    """Make a drop of two codes for three items that asks for an email address; the card."""
    kind = await sam.say("/new", question_of("ask-kind"))
    await sam.press(kind, "Limited drop", question_of("ask-name"))
    await sam.say("Ticket", question_of("ask-amount-drop"))
    await sam.say("5 EUR", question_of("ask-units"))
    review = await sam.say("3", question_of("review"))
    options = await sam.press(review, "More options", question_of("ask-options"))
    asks = await sam.press(options, "Payer details", question_of("ask-asks"))
    asks = await sam.press(asks, "Email", question_of("ask-asks"))
    options = await sam.press(asks, "Done", question_of("ask-options"))
    await sam.press(options, "What buyers get", QUESTION)
    which = await sam.say("A-1\nB-2", question_of("ask-which-goods"))
    options = await sam.press(which, "Codes, one per line", "2 codes for 3 items")
    review = await sam.press(options, "Done", question_of("review"))
    return await sam.press(review, "Create", "3 of 3 left")


async def mark_newest(sam: Seller, mark: str, expect: str, note: str = "") -> None:
    """Mark the newest payment by `/payments`, with a note or without."""
    latest = await sam.say("/payments", "Latest payments")
    opened = await sam.press(latest, "🧾 1", "Payment for Ticket")
    key = "ask-sent" if "Sent" in mark else "ask-paidback"
    question = await sam.press(opened, mark, question_of(key))
    if note:
        await sam.say(note, expect)
    else:
        await sam.press(question, "Skip", expect)


def read(letter: EmailMessage) -> str:
    """Return subject and text of a letter, with usual spaces."""
    return f"{letter['Subject']}\n{plain(letter)}".translate(SPACES)


@SHARED_LOOP
async def test_a_payer_with_an_address_gets_code_and_news_by_email(
    world: World, post: MailServerStub
) -> None:
    """In the payer's language; each mark has a letter of its own."""
    address = "pat@payer.example"
    sam = await seller_with_destination(world)
    receipt = await WebPayer("de").buy(link_of(await ticket(sam)), email=address)
    bought = read(await arrived(post, address, 1))
    assert bought.startswith("Beleg für Ihre Testzahlung über 5,00 €\n")
    for words in ("A-1", "1 von 3", receipt.transaction, "https://t.me/"):
        assert words in bought
    await mark_newest(sam, "📦 Sent", "marked as sent. The buyer will get an email.", "DHL 7")
    sent = read(await arrived(post, address, 2))
    assert "ist unterwegs" in sent.partition("\n")[0]
    assert receipt.transaction in sent
    assert "DHL 7" in await receipt.page()
    await mark_newest(sam, "↩ Paid back", "paid back. The buyer will get an email.")
    assert "5,00 €" in read(await arrived(post, address, 3)).partition("\n")[0]
    assert "A-1" not in await receipt.page()
    assert world.refused == []


async def goods_asked(sam: Seller, card: Message) -> Message:
    await sam.edit(card)
    return await sam.press(card, "What buyers get", QUESTION)


async def replaced(sam: Seller, name: str, data: bytes) -> None:
    await sam.seen(lambda: sam.person.send_document(name, data), f"Buyers now get: {name}")


def files_of(who: Seller) -> list[bytes]:
    """Return the files that the bot has sent somebody."""
    sent = [one.content["document"] for one in who.said if "document" in one.content]
    return [found.data for one in sent if (found := who.world.files.get(one["file_id"]))]


@SHARED_LOOP
async def test_who_waits_for_a_code_hears_once_of_the_file_in_its_place_and_sees_its_correction(
    world: World, post: MailServerStub
) -> None:
    """Codes that were given stay; what buyers wait for can't just be removed."""
    address = "kim@payer.example"
    sam, pat = await seller_with_destination(world), buyer(world, language="de")
    card = await ticket(sam)
    link, german = link_of(card), WebPayer("de")
    first, _, last = [await german.buy(link, email=address) for _ in range(3)]
    await arrived(post, address, 3)
    await last.keep(pat, "3 von 3")
    await shown(sam, card, "1 buyer is waiting for a code")

    question = await goods_asked(sam, card)
    assert "anyone who is still waiting will get what you send now" in question.text
    await sam.press(question, "Remove", "are still waiting for codes")
    await said(sam, QUESTION)
    await replaced(sam, "album.zip", b"the album")
    assert "album.zip" in (await said(pat, "Dein Kauf ist da.")).text
    assert await waited(pat, lambda: files_of(pat) == [b"the album"])
    news = read(await arrived(post, address, 4))
    assert news.startswith("Ihr Kauf ist da\n")
    assert last.transaction in news
    assert "album.zip" not in news
    assert await last.download() == b"the album"
    assert "A-1" in await first.page()
    assert await waited(sam, lambda: "waiting" not in card.text)
    assert labels(await pat.say("/bought", "Deine Käufe"))[0].startswith("✅")

    question = await goods_asked(sam, card)
    assert "replaces this one on the receipts of everyone" in question.text
    await replaced(sam, "album-2.zip", b"the right album")
    assert await last.download() == b"the right album"
    assert "A-1" in await first.page()
    again = await pat.press(await pat.say("/bought", "Deine Käufe"), "✅", "album-2.zip")
    assert "Dein Kauf ist da" not in again.text
    assert len([one for one in pat.said if "Dein Kauf ist da" in one.text]) == 1
    assert len(letters_to(post, address)) == 4
    assert world.refused == []


async def test_letters_go_over_tls_with_a_login_and_outlive_a_kill(tmp_path: Path) -> None:
    """A payment is one letter to the seller and one receipt, also where its form is posted twice.

    Their server is away, and the process is killed before they are sent.
    """
    sealed, port = make_tls(tmp_path), free_port()
    app = app_headers(await create_application(tmp_path))
    body = {
        "product": {"name": "Tee & Kuchen ☕"},
        "instrumentCurrencyCode": "EUR",
        "receivers": [{"sendAmount": 12.5, "destination": "anna"}],
        "expirationType": "never",
        "notifications": {"email": "anna@example.org"},
        "requestedUserData": ["email"],
    }
    async with mail_server(starttls=sealed.server, account=ACCOUNT) as post:
        user = "shop%40example.org:geheim%20p%40ss%3Aw%2Frd"
        env = {"SMTP_URL": f"smtp://{user}@127.0.0.1:{post.port}", "SMTP_FROM": SENDER}
        env |= {"PORT": port, "PAYER_RATE": "0"}
        post.answers["MAIL"] = "451 4.3.0 come back later"
        async with started_bot(tmp_path, "service", unseen=[PASSWORD], **env) as run:
            async with patient_client(run.url, app) as seller:
                made = (await seller.post(REQUESTS_PATH, json=body)).json()
            form = {"token": "a" * 32, "email": "pat@payer.example"}
            async with patient_client(run.url) as payer:
                for _ in range(2):
                    paid = await payer.post(f"/pay/{made['id']}", data=form)
            assert paid.status_code == 303
            await run.line("answered 451 to")
            await run.kill()
        post.answers.clear()
        async with started_bot(tmp_path, "service", unseen=[PASSWORD], **env) as run:

            async def all_taken() -> bool:
                return run.rows(SETTLED) == [(2,)]

            await until(all_taken, 2 * PATIENCE)
            assert run.rows(TRIED)[0][0] >= 3
            async with patient_client(run.url) as payer:
                shown_to_payer = await payer.get(paid.headers["location"])
                (receipt,) = letters_to(post, "pat@payer.example")
                stop = str(receipt["list-unsubscribe"]).strip("<>")
                stopped = await payer.post(httpx.URL(stop).raw_path.decode())
        _, listed, _ = await run_command(tmp_path, "deliveries", "list", "--json")
    (letter,) = letters_to(post, "anna@example.org")
    assert letter["Subject"] == "€12.50 for Tee & Kuchen ☕"
    assert paid.headers["location"].rpartition("/")[2] in plain(letter)
    assert receipt["Subject"] == "Receipt for your test payment of €12.50"
    assert "Tee" not in receipt.as_string()
    assert "We&#39;ve emailed a receipt to p•••@payer.example." in shown_to_payer.text
    assert stopped.status_code == 200
    assert sum('"channel": "receipt"' in line for line in listed) == 1
    assert all(post.over_tls)
    assert {login[1:] for login in post.logins} == {ACCOUNT}
