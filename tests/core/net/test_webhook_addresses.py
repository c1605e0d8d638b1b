"""Addresses that webhooks may reach, as far as the text of an address decides."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.core.errors import ConfigProblem, ForbiddenAddress
from bot.core.net import webhook_addresses
from bot.core.net.webhook_addresses import (
    AllowList,
    check_url,
    endpoint,
    is_forbidden,
    literal_address,
    zone_of,
)

NOBODY = AllowList()


def refusal(url: str, allow: AllowList = NOBODY) -> str | None:
    """Return why a webhook address is refused, None if it is accepted."""
    try:
        check_url(url, allow)
    except ForbiddenAddress as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.2", "127.0.0.2"),
        ("127.0.0.1..", "127.0.0.1"),
        ("①②⑦.0.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("4294967295", "255.255.255.255"),
        ("1.2.65535", "1.2.255.255"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("[::ffff:127.0.0.1]", "::ffff:7f00:1"),
        ("[FE80::1%eth0]", "fe80::1%eth0"),
        ("8.8.8.8", "8.8.8.8"),
    ],
)
def test_literals_are_read_like_inet_aton(host: str, address: str) -> None:
    """The last number fills the remaining bytes."""
    assert literal_address(host) == ip_address(address)


NAMES = """
    . example.com localhost 127.0.0.1.example.com 256.0.0.1 1.2.3.4.5 4294967296 08.1.1.1
    1.2.65536 0x100000000 -1 1..2 ::g [::1 deadbeef
"""


@pytest.mark.parametrize("host", [*NAMES.split(), "", "9" * 5000, "\u0661.1.1.1"])
def test_names_are_no_addresses(host: str) -> None:
    """A host that is no address in any spelling is a name, valid or not."""
    expected = ip_address("::1") if host == "[::1" else None
    assert literal_address(host) == expected


@given(st.text())
@example("0x" + "f" * 1000)
def test_any_host_gets_an_answer(host: str) -> None:
    """Parsing a host never raises."""
    assert literal_address(host) is None or isinstance(
        literal_address(host), IPv4Address | IPv6Address
    )


@given(st.ip_addresses(v=4))
def test_each_address_has_one_meaning(address: IPv4Address) -> None:
    """As one number, in octal and in hexadecimal it is the same address."""
    number = int(address)
    spellings = (str(address), str(number), hex(number), f"0{number:o}", f"[::ffff:{address}]")
    for spelling in spellings[:4]:
        assert literal_address(spelling) == address
    mapped = literal_address(spellings[4])
    assert isinstance(mapped, IPv6Address)
    assert mapped.ipv4_mapped == address
    assert is_forbidden(mapped, 443, NOBODY)


def test_the_allow_list_opens_what_it_names_and_nothing_else() -> None:
    """Hosts, addresses and networks are each allowed as written."""
    allow = AllowList.parse(
        " receiver.Local , 10.0.0.0/8,127.0.0.1,fd00::/8,[::5], 192.168.1.5/24,, "
    )
    assert allow.permits_host("RECEIVER.local.", 443)
    assert not allow.permits_host("sub.receiver.local", 443)
    assert not allow.permits_host("10.0.0.1", 443)
    for address in ("10.1.2.3", "127.0.0.1", "fd12::1", "::5", "192.168.1.77"):
        assert allow.permits_address(ip_address(address), 443)
        assert not is_forbidden(ip_address(address), 443, allow)
    for address in ("127.0.0.2", "::ffff:127.0.0.1", "192.168.2.1", "fe80::1"):
        assert is_forbidden(ip_address(address), 443, allow)


@pytest.mark.parametrize(
    ("entry", "open_urls", "shut_urls"),
    [
        ("Box.localhost:5000", ["http://box.localhost:5000/"], ["http://box.localhost/"]),
        ("box.localhost:443", ["https://box.localhost/"], ["http://box.localhost/"]),
        ("127.0.0.1:80", ["http://127.0.0.1/", "http://127.1:80/"], ["https://127.0.0.1/"]),
        ("[::1]:5000", ["http://[::1]:5000/"], ["http://[::1]:5001/", "http://[::1]/"]),
        ("10.0.0.0/8:5000", ["https://10.1.2.3:5000/"], ["https://10.1.2.3/"]),
        (
            "127.0.0.1:1, 127.0.0.1:65535",
            ["http://127.0.0.1:1/", "http://127.0.0.1:65535/"],
            ["http://127.0.0.1:2/"],
        ),
        ("127.0.0.1:1, 127.0.0.0/8", ["http://127.0.0.1:2/", "http://127.0.0.1/"], []),
        ("::1:5000", ["http://[::1:5000]/"], ["http://[::1]:5000/"]),
    ],
)
def test_an_entry_with_a_port_opens_that_port_alone(
    entry: str, open_urls: list[str], shut_urls: list[str]
) -> None:
    """A port that the URL leaves out is that of its scheme; IPv6 addresses have brackets."""
    allow = AllowList.parse(entry)
    assert [url for url in open_urls if refusal(url, allow)] == []
    assert [url for url in shut_urls if not refusal(url, allow)] == []


@pytest.mark.parametrize("entry", ["host:0", "host:65536", "[::1]:99999"])
def test_a_port_that_none_can_be_is_named(entry: str) -> None:
    with pytest.raises(ConfigProblem, match="a port is a number from 1 to 65535") as caught:
        AllowList.parse(entry)
    assert repr(entry) in str(caught.value)


BAD_ENTRIES = """
    10.0.0.0/33 300.1.1.1 127.2 http://host http://host:8080 host: host:port 127.2:80 ::1]:80
    * -x ::g a..b
"""


@pytest.mark.parametrize("entry", [*BAD_ENTRIES.split(), "a b"])
def test_bad_entries_are_named(entry: str) -> None:
    """A mistyped entry is a ConfigProblem that shows the entry."""
    with pytest.raises(ConfigProblem, match="neither a host") as caught:
        AllowList.parse(f"good.example, {entry}")
    assert repr(entry) in str(caught.value)


VALID = """
    https://example.com http://example.com:8080/hook?x=@y#z https://example.com/@user
    https://example.com?at=a@b HTTPS://EXAMPLE.com./hook https://bücher.example/
    https://a_b.example/ http://bot.internal/webhooks/payments/x http://8.8.8.8/
    http://[2606:4700:4700::1111]:443/ https://intranet/
"""


@pytest.mark.parametrize("url", VALID.split())
def test_valid_addresses_are_accepted(url: str) -> None:
    """A name is checked when it is dialled; here only its form counts."""
    assert refusal(url) is None


INVALID = """
    example.com //example.com ftp://example.com/ file:///etc/passwd javascript:alert(1)
    http:example.com http:// http:///path http://user@example.com/
    http://user:password@example.com/ http://@example.com/ http://example.com:0/
    http://example.com:65536/ http://example.com:abc/ http://example.com:-1/
    http://xn--a.example/ http://xn--0.xn--0/ http://xn--/ http://a..b/ http://-/ http://..
    http://%31%32%37.0.0.1/ http://1.2.3.4.5/ http://256.1.1.1/ http://[::1 http://[::g]/
    http://localhost/ http://LOCALHOST:8080/ http://localhost./ http://any.localhost/
    http://127.2/ http://169.254.169.254/latest/meta-data/ http://[::1]/
    http://[::ffff:127.0.0.1]/ http://[64:ff9b::127.0.0.1]/ http://[fe80::1%25eth0]/
    https://10.0.0.1:8443/hook
"""


@pytest.mark.parametrize(
    "url",
    [
        *INVALID.split(),
        "",
        "http://a b/",
        " http://example.com/",
        "http://example.com/\n",
        "http://example.com\\@127.0.0.1/",
        "http://exa\tmple.com/",
        "http://example.com/\x85",
        "http://example.com/?a=\x9b",
        "http://example.com/\u202egnp.exe",
        "http://example.com/\u2066",
        "http://exam\u200bple.com/",
        "http://example.com/\u2028",
        "http://example.com/\ud800",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 150 + "example/",
    ],
)
def test_invalid_addresses_are_refused(url: str) -> None:
    """Other schemes, credentials and private addresses in any spelling, with a reason."""
    assert refusal(url)


@pytest.mark.parametrize(
    "url", ["http://127.2:9/", "http://localhost/", "http://10.1.1.1/", "http://[::1]/"]
)
def test_allowed_private_addresses_are_accepted(url: str) -> None:
    """A request may name an address that the operator lists."""
    assert refusal(url, AllowList.parse("127.0.0.0/8, localhost, 10.1.1.1, ::1")) is None


@given(st.text() | st.from_regex(r"https?://[0-9a-fx.:\[\]@%\\ /]*", fullmatch=True))
def test_any_text_is_accepted_or_refused(url: str) -> None:
    """A webhook address is accepted or refused with a reason, without any other error."""
    assert refusal(url) != ""


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://bot。internal/any/path", "bot.internal"),
        ("http://bot\uff0einternal/", "bot.internal"),
        ("http://bot\uff61internal:81/", "bot.internal"),
        ("http://BOT.internal./", "bot.internal"),
        ("https://Bücher.example/", "xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://127.1:9/", "127.0.0.1"),
        ("http://[0:0::1]/", "::1"),
    ],
)
def test_a_host_is_the_same_however_it_is_spelled(url: str, host: str) -> None:
    """Comparing and counting use the host that will be dialled."""
    assert check_url(url, AllowList.parse("127.0.0.0/8, ::1")) == host
    assert endpoint(url).host == host


@given(st.text() | st.from_regex(r"https?://[0-9a-fxn.:\[\]@%\\ /。-]*", fullmatch=True))
def test_any_text_has_an_endpoint(url: str) -> None:
    """Even an unreadable address: a payment is not refused because of it."""
    assert str(endpoint(url))


@pytest.mark.parametrize(
    ("host", "zone"),
    [
        ("wallet.example.com", "example.com"),
        ("a.b.Example.COM.", "example.com"),
        ("pay.shop.com.br", "shop.com.br"),
        ("a.pay.shop.co.uk", "shop.co.uk"),
        ("x.city.kawasaki.jp", "city.kawasaki.jp"),  # an exception of the list
        ("x.shop.other.kawasaki.jp", "shop.other.kawasaki.jp"),  # a wildcard of it
        ("a.b.xn--j6w193g", "b.xn--j6w193g"),  # as 香港
        ("b.a.xn--55qx5d.xn--j6w193g", "a.xn--55qx5d.xn--j6w193g"),  # as 公司.香港
        ("com.br", "com.br"),
        ("localhost", "localhost"),
        ("lnbits.bot.internal", "bot.internal"),
        ("a.b.onion", "b.onion"),
        ("127.1", "127.0.0.1"),
        ("[2001:DB8::7]", "2001:db8::7"),
        ("", ""),
    ],
)
def test_a_zone_is_what_somebody_registered(host: str, zone: str) -> None:
    """Below `com.br` strangers buy domains; a host without such an owner is its own zone."""
    assert zone_of(host) == zone


@pytest.mark.parametrize("host", ["a.tunnel.ngrok.io", "b.github.io", "c.duckdns.org"])
def test_who_gives_names_away_is_one_zone(host: str) -> None:
    """Names that cost nothing would give anybody as many zones as they like."""
    assert zone_of(host) == ".".join(host.split(".")[-2:])


@given(
    st.text(max_size=60) | st.from_regex(r"[a-z.\-]{0,40}(com\.br|co\.uk|ck|com)?", fullmatch=True)
)
def test_whatever_the_host_its_zone_is_the_end_of_its_name(host: str) -> None:
    if literal_address(host) is None:
        plain = webhook_addresses._plain_host(host)
        assert plain == zone_of(host) or plain.endswith(f".{zone_of(host)}")
        assert zone_of(plain) == zone_of(host)
