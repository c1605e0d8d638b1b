"""The forbidden ranges of webhooks, in every spelling."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_network

import httpx
import pytest

from bot.core.errors import ForbiddenAddress
from bot.core.net.guarded_transport import GuardedTransport
from bot.core.net.webhook_addresses import AllowList, check_url
from tests.support.service_harness import NEW, REQUESTS_PATH, ServiceHarness

V4 = {
    "this network": "0.0.0.0/8",
    "private 10": "10.0.0.0/8",
    "carrier-grade NAT": "100.64.0.0/10",
    "loopback": "127.0.0.0/8",
    "link-local": "169.254.0.0/16",
    "private 172": "172.16.0.0/12",
    "protocol assignments": "192.0.0.0/24",
    "documentation 1": "192.0.2.0/24",
    "6to4 relays": "192.88.99.0/24",
    "private 192": "192.168.0.0/16",
    "benchmarking": "198.18.0.0/15",
    "documentation 2": "198.51.100.0/24",
    "documentation 3": "203.0.113.0/24",
    "multicast": "224.0.0.0/4",
    "reserved": "240.0.0.0/4",
}
V6 = {
    "unspecified": "::/128",
    "loopback": "::1/128",
    "mapped": "::ffff:0:0/96",
    "compatible": "::/96",
    "NAT64": "64:ff9b::/96",
    "local NAT64": "64:ff9b:1::/48",
    "discard": "100::/64",
    "Teredo": "2001::/32",
    "benchmarking": "2001:2::/48",
    "ORCHID": "2001:10::/28",
    "documentation 1": "2001:db8::/32",
    "6to4": "2002::/16",
    "documentation 2": "3fff::/20",
    "segment routing": "5f00::/16",
    "unique local": "fc00::/7",
    "link-local": "fe80::/10",
    "site-local": "fec0::/10",
    "multicast": "ff00::/8",
}


def _parts(address: IPv4Address, form: str) -> str:
    return ".".join(format(byte, form) for byte in address.packed)


def _octal(address: IPv4Address) -> str:
    return ".".join(f"0{byte:o}" for byte in address.packed)


def _short(address: IPv4Address, parts: int) -> str:
    """The last number fills the remaining bytes, as in inet_aton."""
    first = [str(byte) for byte in address.packed[: parts - 1]]
    rest = int.from_bytes(address.packed[parts - 1 :], "big")
    return ".".join([*first, str(rest)])


def _wide(address: IPv4Address) -> str:
    return str(address).translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)})


def _sixth(prefix: str) -> Callable[[IPv4Address], str]:
    """The IPv4 address in the last 32 bits of an IPv6 one."""
    return lambda address: f"[{IPv6Address(int(IPv6Address(prefix)) | int(address))}]"


SPELLINGS: dict[str, Callable[[IPv4Address], str]] = {
    "dotted": str,
    "trailing dot": lambda address: f"{address}.",
    "three parts": lambda address: _short(address, 3),
    "two parts": lambda address: _short(address, 2),
    "one number": lambda address: str(int(address)),
    "octal parts": _octal,
    "octal number": lambda address: f"0{int(address):o}",
    "hexadecimal parts": lambda address: _parts(address, "#x"),
    "hexadecimal number": lambda address: f"{int(address):#x}",
    "upper-case hexadecimal": lambda address: f"0X{int(address):X}",
    "leading zeros": lambda address: f"0x{int(address):016x}",
    "full width": _wide,
    "ideographic dots": lambda address: str(address).replace(".", "\u3002"),
    "soft hyphen": lambda address: f"{address}".replace(".", ".\u00ad", 1),
    "percent-encoded": lambda address: "".join(f"%{ord(char):02x}" for char in str(address)),
}
EMBEDDED: dict[str, Callable[[IPv4Address], str]] = {
    "mapped": lambda address: f"[::ffff:{address}]",
    "mapped in hexadecimal": _sixth("::ffff:0:0"),
    "compatible": lambda address: f"[::{address}]",
    "NAT64": _sixth("64:ff9b::"),
    "local NAT64": _sixth("64:ff9b:1::"),
    "6to4": lambda address: f"[{IPv6Address((0x2002 << 112) | (int(address) << 80))}]",
    "ISATAP": _sixth("fe80::5efe:0:0"),
    "Teredo": lambda address: f"[{IPv6Address((0x20010000 << 96) | (int(address) ^ 0xFFFFFFFF))}]",
}


def of_range(network: str) -> list[IPv4Address | IPv6Address]:
    """Both ends of a range, and its middle."""
    found = ip_network(network)
    middle = found.network_address + found.num_addresses // 2
    return sorted({found.network_address, middle, found.broadcast_address}, key=int)


def refused(host: str, port: str = "") -> bool:
    try:
        check_url(f"http://{host}{port}/hook", AllowList())
    except ForbiddenAddress:
        return True
    return False


@pytest.mark.parametrize("form", [*SPELLINGS, *EMBEDDED])
@pytest.mark.parametrize("name", V4)
def test_every_form_of_every_forbidden_range_is_refused(name: str, form: str) -> None:
    spell = (SPELLINGS | EMBEDDED)[form]
    for address in of_range(V4[name]):
        assert isinstance(address, IPv4Address)
        host = spell(address)
        assert refused(host), host
        assert refused(host, ":8080"), host


@pytest.mark.parametrize("form", ["dotted", "trailing dot", "two parts", "one number"])
def test_a_public_address_is_accepted(form: str) -> None:
    """The target of an address decides, not its spelling."""
    for text in ("8.8.8.8", "9.255.255.255", "172.32.0.1", "223.255.255.254"):
        assert not refused(SPELLINGS[form](IPv4Address(text)))


@pytest.mark.parametrize("form", EMBEDDED)
def test_a_public_address_embedded_in_another_is_refused(form: str) -> None:
    """Its translation is up to the network."""
    assert refused(EMBEDDED[form](IPv4Address("8.8.8.8")))


@pytest.mark.parametrize("name", V6)
def test_every_form_of_every_forbidden_v6_range_is_refused(name: str) -> None:
    for address in of_range(V6[name]):
        for text in (str(address), address.exploded, address.exploded.upper()):
            assert refused(f"[{text}]"), text
            assert refused(f"[{text}]", ":443"), text


@pytest.mark.parametrize("form", [*SPELLINGS, *EMBEDDED])
async def test_addresses_refused_as_written_are_refused_when_dialled(form: str) -> None:
    """An address that was never checked as written is not dialled either."""
    host = (SPELLINGS | EMBEDDED)[form](IPv4Address("127.0.0.1"))
    asked: list[str] = []

    async def resolver(name: str, _port: int) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    transport = GuardedTransport(AllowList(), resolver=resolver)
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises((ForbiddenAddress, httpx.InvalidURL)):
            await client.get(f"http://{host}/")
    assert len(asked) <= 1


async def test_the_api_refuses_all_of_them_at_create(service: ServiceHarness) -> None:
    for spell in (SPELLINGS | EMBEDDED).values():
        hook = {"webhookUrl": f"http://{spell(IPv4Address('169.254.169.254'))}/latest"}
        answer = await service.seller.post(
            REQUESTS_PATH, json=NEW | {"notifications": {"webhook": hook}}
        )
        assert answer.status_code == 400, hook
        assert answer.json()["info"][0]["field"] == "notifications.webhook.webhookUrl"
    assert await service.rows("payment_requests") == []
