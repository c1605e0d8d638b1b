"""Self-signed certificates for 127.0.0.1."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


@dataclass(frozen=True)
class TlsContexts:
    """TLS of a server of this machine, and of a client that trusts it."""

    server: ssl.SSLContext
    client: ssl.SSLContext


def make_certificate(folder: Path, host: str = HOST) -> Path:
    """Write a certificate of an address or a name, and its key, into one file.

    No client trusts it by default.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    here = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address(HOST)) if host == HOST else x509.DNSName(host)]
    )
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    path = folder / "server.pem"
    pem = serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(pem, form, plain) + made.public_bytes(pem))
    return path


def make_tls(folder: Path, host: str = HOST) -> TlsContexts:
    """Make a certificate, and the contexts of both ends."""
    path = make_certificate(folder, host)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return TlsContexts(server, ssl.create_default_context(cafile=path))
