"""The forbidden ranges of webhooks, in every spelling."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import ForbiddenAddress
from bot.core.net.guarded_transport import GuardedTransport
from bot.core.net.webhook_addresses import AllowList, check_url, is_forbidden, literal_address
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
PUBLIC = """
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
    169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255
    192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0
    203.0.112.255 203.0.114.0 223.255.255.255 2001:200:: 2001:db7:ffff:: 2001:db9:: 2003::1
    2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450::1 3fff:1000::1
"""
"""Public addresses, among them the neighbours of every forbidden range."""


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


def test_every_form_of_every_forbidden_range_is_refused() -> None:
    forms = [*SPELLINGS.values(), *EMBEDDED.values()]
    addresses = [at for network in V4.values() for at in of_range(network)]
    hosts = [spell(at) for spell in forms for at in addresses if isinstance(at, IPv4Address)]
    hosts += [f"[{text}]" for network in V6.values() for text in v6_texts(network)]
    assert len(hosts) > 1000
    assert not [host for host in hosts if not (refused(host) and refused(host, ":8080"))]


def v6_texts(network: str) -> list[str]:
    found = [(str(at), at.exploded, at.exploded.upper()) for at in of_range(network)]
    return [text for texts in found for text in texts]


def test_every_spelling_of_an_address_is_that_address() -> None:
    """Short, octal, hexadecimal, one number, full width: resolvers accept them all."""
    for text in ("127.0.0.1", "8.8.8.8", "10.0.0.1"):
        address = IPv4Address(text)
        read = {form: literal_address(spell(address)) for form, spell in SPELLINGS.items()}
        assert read.pop("percent-encoded") is None  # a URL with it is refused
        assert set(read.values()) == {address}, read


def test_a_public_address_is_accepted() -> None:
    """The target of an address decides, not its spelling; the neighbours of ranges are public."""
    for text in PUBLIC.split():
        address = ip_address(text)
        assert not is_forbidden(address, 443, AllowList()), text
        if isinstance(address, IPv4Address):
            for form in ("dotted", "trailing dot", "two parts", "one number"):
                assert not refused(SPELLINGS[form](address)), (form, text)


def test_a_public_address_embedded_in_another_is_refused() -> None:
    """Its translation is up to the network."""
    hosts = [embed(IPv4Address("8.8.8.8")) for embed in EMBEDDED.values()]
    assert not [host for host in hosts if not refused(host)]


@given(st.ip_addresses())
def test_addresses_that_python_calls_private_are_forbidden(
    address: IPv4Address | IPv6Address,
) -> None:
    """The tables of the standard library call every permitted address global."""
    if not is_forbidden(address, 443, AllowList()):
        assert not address.is_private
        assert not address.is_multicast
        assert not address.is_reserved


async def test_addresses_refused_as_written_are_refused_when_dialled() -> None:
    """An address that was never checked as written is not dialled either."""
    asked: list[str] = []

    async def resolver(name: str, _port: int) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    transport = GuardedTransport(AllowList(), resolver=resolver)
    async with httpx.AsyncClient(transport=transport) as client:
        for spell in (SPELLINGS | EMBEDDED).values():
            with pytest.raises((ForbiddenAddress, httpx.InvalidURL)):
                await client.get(f"http://{spell(IPv4Address('127.0.0.1'))}/")
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
