"""What stands around every page: the seller above it, the links below it, the accent colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bot.core.accents import DEFAULT_ACCENT
from bot.core.text import contacts
from bot.core.text.initials import initials
from bot.service.model import redirects
from bot.service.page.page_times import PLACE

if TYPE_CHECKING:
    from bot.service.model.request import PaymentRequest
    from bot.service.model.seller import SellerProfile
    from bot.service.page.forms import Reader


def frame(
    reader: Reader, request: PaymentRequest, url: str, operator_contact: str | None
) -> dict[str, Any]:
    """Return the values of a page about a request, whose address is `url`."""
    seller = request.seller
    return {
        "seller": _seller(reader, seller) if seller else None,
        "accent": (seller and seller.accent) or DEFAULT_ACCENT,
        "report": operator_contact and report_link(reader, operator_contact, url),
    }


def _seller(reader: Reader, seller: SellerProfile) -> dict[str, Any]:
    return {
        "name": seller.name,
        "initials": initials(seller.name),
        "picture": seller.image_url and redirects.ascii_url(seller.image_url),
        "about": seller.description,
        "contact": seller.contact_url,
        "sold_by": reader.t("page-sold-by", seller=PLACE).split(PLACE),
    }


def report_link(reader: Reader, operator_contact: str, url: str) -> str:
    """Return the link that reports a page to the operator; an email names the page."""
    link = contacts.contact_link(operator_contact)
    if not link.startswith("mailto:"):
        return link
    return f"{link}?subject={quote(reader.t('page-report-subject', url=url))}"
