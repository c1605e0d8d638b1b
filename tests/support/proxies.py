"""The proxies of deploy/, started with the shipped files on other ports."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.asgi_server import HOST, make_certificate
from tests.support.free_ports import free_port, is_listened_to
from tests.support.product_process import PATIENCE
from tests.support.source_tree import ROOT

DEPLOY = ROOT / "deploy"
PROXIES = ("caddy", "nginx", "haproxy")
BOT = "127.0.0.1:8080"
"""Where the shipped files look for the bot."""

DOMAIN = "pay.example.org"
SERVER_LINE = "    server one 127.0.0.1:8080\n"


def program(name: str) -> str | None:
    """Return the path of a proxy; None if it isn't installed."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")


@dataclass(frozen=True)
class Front:
    """A proxy at work."""

    name: str
    port: int
    tls: ssl.SSLContext
    folder: Path

    @property
    def host(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.host}"

    def source(self, number: int) -> str:
        """Return an address of this machine for clients of this proxy alone."""
        return f"127.1.{PROXIES.index(self.name)}.{number}"

    def client(self, source: str = HOST, **headers: str) -> httpx.AsyncClient:
        """Return a client that calls from this address."""
        transport = httpx.AsyncHTTPTransport(local_address=source, verify=self.tls)
        return httpx.AsyncClient(
            base_url=self.url, transport=transport, headers=headers, timeout=PATIENCE
        )

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        both = await asyncio.open_connection(HOST, self.port, ssl=self.tls, server_hostname=HOST)
        try:
            yield both
        finally:
            both[1].transport.abort()
            with suppress(ConnectionError):
                await both[1].wait_closed()


@dataclass(frozen=True)
class Setup:
    """What differs from an operator's machine."""

    folder: Path
    port: str
    plain_port: str
    certificate: Path
    bots: Sequence[str]


def caddy_command(setup: Setup) -> list[str]:
    """Write the Caddyfile; return the command that serves it."""
    text = (DEPLOY / "Caddyfile").read_text("utf-8")
    text = text.replace("{\n", "{\n\tadmin off\n\tauto_https disable_redirects\n", 1)
    tls = f"tls {setup.certificate} {setup.certificate}"
    text = text.replace(f"{DOMAIN} {{", f"https://{HOST}:{setup.port} {{\n\t{tls}")
    text = text.replace(BOT, " ".join(setup.bots))
    if len(setup.bots) > 1:
        text = text.replace("#lb_", "lb_").replace("#health_", "health_")
    path = setup.folder / "Caddyfile"
    path.write_text(text, "utf-8")
    return ["run", "--config", str(path), "--adapter", "caddyfile"]


def nginx_command(setup: Setup) -> list[str]:
    """Write the site, and an nginx.conf around it; return the command that serves it."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    certificates = f"/etc/letsencrypt/live/{DOMAIN}"
    for name in ("fullchain", "privkey"):
        text = text.replace(f"{certificates}/{name}.pem", str(setup.certificate))
    for line in ("    listen [::]:80;\n", "    listen [::]:443 ssl;\n"):
        text = text.replace(line, "")
    text = text.replace("listen 80;", f"listen {HOST}:{setup.plain_port};")
    text = text.replace("listen 443 ssl;", f"listen {HOST}:{setup.port} ssl;")
    text = text.replace(DOMAIN, HOST)
    text = text.replace(f"server {BOT};", " ".join(f"server {bot};" for bot in setup.bots))
    site, path = setup.folder / "site", setup.folder / "nginx.conf"
    site.write_text(text, "utf-8")
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{name}_temp_path {setup.folder}/{name};" for name in temporary)
    user = "user root;" if os.geteuid() == 0 else ""
    path.write_text(
        f"daemon off; pid {setup.folder}/pid; {user}"
        f" events {{ worker_connections 8192; }} http {{ gzip on; {places} include {site}; }}",
        "utf-8",
    )
    return ["-c", str(path), "-e", str(setup.folder / "error.log")]


def haproxy_command(setup: Setup) -> list[str]:
    """Write haproxy.cfg; return the command that serves it."""
    text = (DEPLOY / "haproxy.cfg").read_text("utf-8")
    text = text.replace("bind :80\n", f"bind {HOST}:{setup.plain_port}\n")
    text = text.replace("bind :443 ", f"bind {HOST}:{setup.port} ")
    text = text.replace("/etc/haproxy/pay.pem", str(setup.certificate))
    lines = [f"    server s{number} {bot}\n" for number, bot in enumerate(setup.bots)]
    text = text.replace(SERVER_LINE, "".join(lines))
    if len(lines) > 1:
        text = text.replace("#option", "option").replace("#default-server", "default-server")
    path = setup.folder / "haproxy.cfg"
    path.write_text(f"global\n    maxconn 8192\n\n{text}", "utf-8")
    return ["-db", "-f", str(path)]


COMMANDS = {"caddy": caddy_command, "nginx": nginx_command, "haproxy": haproxy_command}


@asynccontextmanager
async def running_proxy(name: str, folder: Path, *ports: str) -> AsyncIterator[Front]:
    """Run a proxy before bots at these ports of this machine."""
    certificate = make_certificate(folder)
    bots = [f"{HOST}:{port}" for port in ports]
    setup = Setup(folder, free_port(), free_port(), certificate, bots)
    path = program(name)
    assert path
    places = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    with (folder / "log").open("wb") as log:
        child = await asyncio.create_subprocess_exec(
            path, *COMMANDS[name](setup), cwd=folder, env=places, stdout=log, stderr=log
        )
    try:
        async with asyncio.timeout(PATIENCE):
            while not is_listened_to(int(setup.port)):
                assert child.returncode is None, (folder / "log").read_text("utf-8")
                await asyncio.sleep(0.02)
        tls = ssl.create_default_context(cafile=certificate)
        yield Front(name, int(setup.port), tls, folder)
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()
