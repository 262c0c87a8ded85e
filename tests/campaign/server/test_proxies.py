"""The examples in ``deploy/`` with a certificate of their own: real proxies between the real program and server."""

from __future__ import annotations

import datetime
import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from support.campaign_town import Town, new_town
from visibility_aware_edge_ldp.campaign.http_client import NotReached, Patience, Transport
from visibility_aware_edge_ldp.campaign.participant import program, server_checks
from visibility_aware_edge_ldp.campaign.server.broadcasts import TRANSCRIPT

DEPLOY = Path(__file__).parents[3] / "deploy"
# How long a request may take to arrive; the examples say 20 seconds.
SECONDS = 2
AROUND = program.Surroundings(pace=0.001, patience=Patience(attempt=20, first=0.05, most=0.1, total=20))


@dataclass(frozen=True)
class Proxied:
    """A town behind a proxy that runs."""

    town: Town
    port: int
    server: subprocess.Popen[bytes]
    said: Path

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, token: str = "", **more: str
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=30, context=_trusting())
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"} | more
        with suppress(BrokenPipeError, ssl.SSLError, ConnectionResetError):  # a large body is refused before its end
            connection.request(method, path, body, headers)
        return connection.getresponse()

    def begin(self, head: bytes) -> ssl.SSLSocket:
        plain = socket.create_connection(("localhost", self.port), timeout=30)
        wrapped = _trusting().wrap_socket(plain, server_hostname="localhost")
        wrapped.sendall(head)
        return wrapped


def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context()


def new_certificate(folder: Path) -> tuple[Path, Path]:
    """For localhost, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return certificate, secret


def nginx_words(folder: Path, port: int, other: int, backend: str) -> list[str]:
    """The example, with our name, ports, certificate and time, in the frame that a distribution gives it."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    changes = {
        "survey.example.org": "localhost",
        "listen 80": f"listen 127.0.0.1:{other}",
        "listen 443": f"listen 127.0.0.1:{port}",
        "127.0.0.1:8000": backend.removeprefix("http://"),
        "/var/cache/va-edge-ldp-broadcast/town": str(folder / "public"),
        "20s": f"{SECONDS}s",
        "/etc/letsencrypt/live/localhost/fullchain.pem": str(certificate),
        "/etc/letsencrypt/live/localhost/privkey.pem": str(key),
    }
    temporary = "".join(
        f"{name}_temp_path {folder / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    frame = (
        f"daemon off;\npid {folder / 'pid'};\nevents {{}}\nhttp {{\naccess_log {folder / 'access.log'};\n{temporary}"
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(f"{user}{frame}{changed(text, changes)}\n}}\n")
    return [str(found("nginx")), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def caddy_words(folder: Path, port: int, other: int, backend: str) -> list[str]:
    text = (DEPLOY / "Caddyfile").read_text("utf-8")
    keys = f"tls {folder / 'certificate.pem'} {folder / 'key.pem'}"
    changes = {
        "survey.example.org {": f"localhost:{port} {{\n\tbind 127.0.0.1\n\t{keys}",
        "127.0.0.1:8000": backend.removeprefix("http://"),
        "/var/cache/va-edge-ldp-broadcast/town": str(folder / "public"),
        "20s": f"{SECONDS}s",
    }
    # The one block of options that concern the whole process.
    text = re.sub(r"^\{\n", f"{{\n\tadmin off\n\thttp_port {other}\n", changed(text, changes), flags=re.MULTILINE)
    (folder / "Caddyfile").write_text(text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def found(program: str) -> str | None:
    """Where a program is; servers stand where not everybody looks."""
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"]))


def changed(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert old in text, f"the example does not say {old!r}"
        text = text.replace(old, new)
    return text


Words = Callable[[Path, int, int, str], list[str]]


PROXIES: dict[str, Words] = {"nginx": nginx_words, "caddy": caddy_words}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def running(command: list[str], said: Path) -> Iterator[subprocess.Popen[bytes]]:
    with said.open("wb") as log:
        environment = {**os.environ, "XDG_DATA_HOME": str(said.parent), "XDG_CONFIG_HOME": str(said.parent)}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def wait_for(port: int, process: subprocess.Popen[bytes], said: Path) -> None:
    until = time.monotonic() + 15
    while time.monotonic() < until:
        assert process.poll() is None, said.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(said.read_text())


@pytest.fixture(scope="module", params=PROXIES)
def proxied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    if found(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    certificate, _ = new_certificate(folder)
    town = new_town(folder / "town", "degrees", fewest=2)
    serve = [sys.executable, "-m", "visibility_aware_edge_ldp.campaign.server.serving", str(town.directory)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(certificate))
        options = ["--port", "0", "--seconds", str(SECONDS), "--broadcast", str(folder / "public")]
        with running([*serve, *options], folder / "server.log") as server:
            assert server.stdout is not None
            backend, port = server.stdout.readline().decode().strip(), free_port()
            assert backend, (folder / "server.log").read_text()
            command = PROXIES[request.param](folder, port, free_port(), backend)
            with running(command, folder / "proxy.log") as proxy:
                wait_for(port, proxy, folder / "proxy.log")
                yield Proxied(town, port, server, folder / "proxy.log")


def test_people_enrol_and_answer_through_tls(proxied: Proxied, tmp_path: Path) -> None:
    town = proxied.town
    roster = town.served.campaign.documents.roster
    for participant in (0, 1, 2):
        home, name = tmp_path / str(participant), str(roster[participant])
        issuer = town.served.charter.issuer
        caps = dict.fromkeys(town.served.terms.losses, "5")
        program.enroll(proxied.url, name, town.tokens[participant], issuer, home, caps, surroundings=AROUND)
        done = program.answer([str(roster[9])], home, lambda lines: True, say=lambda line: None, surroundings=AROUND)
        assert done.receipt is not None
    assert proxied.ask("POST", "/v1/rounds/1/close", b"", town.operator).status == 200
    (found,) = server_checks.check(tmp_path / "1", surroundings=AROUND)
    assert found.root
    assert proxied.ask("POST", "/v1/estimate", b"", town.operator).status == 200
    assert server_checks.check(tmp_path / "1", surroundings=AROUND)[0].answers
    assert proxied.ask("GET", "/").headers["Strict-Transport-Security"] == "max-age=31536000"


def test_another_certificate_is_not_believed(proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(new_certificate(tmp_path)[0]))
    hurried = replace(AROUND, patience=Patience(attempt=2, first=0.01, most=0.01, total=0.1))
    with pytest.raises(NotReached):
        program.enroll(proxied.url, "x", "y", "0" * 64, tmp_path / "home", surroundings=hurried)


@pytest.mark.parametrize("below", ["", f"/c/{'a' * 64}"])
def test_a_transcript_is_handed_out_from_its_file_whole_and_in_parts(proxied: Proxied, below: str) -> None:
    """The server is not asked: these octets it never had."""
    file, path = proxied.said.parent / f"public{below}" / TRANSCRIPT, f"{below}/{TRANSCRIPT}"
    assert proxied.ask("GET", path).status == 404
    file.parent.mkdir(parents=True)
    for each in [file.parent, *file.parent.parents][: 4 + 2 * bool(below)]:
        each.chmod(0o755)
    octets = bytes(range(256)) * 1_000
    file.write_bytes(octets)
    whole = proxied.ask("GET", path)
    assert (whole.status, whole.read()) == (200, octets)
    assert whole.headers["Cache-Control"] == "public, max-age=3600, immutable"
    assert whole.headers["Access-Control-Allow-Origin"] == "*"
    assert whole.headers["Content-Type"] == "application/octet-stream"
    part = proxied.ask("GET", path, **{"Range": "bytes=1000-", "If-Range": whole.headers["ETag"]})
    assert (part.status, part.read()) == (206, octets[1000:])
    assert part.headers["Content-Range"] == f"bytes 1000-{len(octets) - 1}/{len(octets)}"
    other = proxied.ask("GET", path, **{"Range": "bytes=1000-", "If-Range": '"another"'})
    assert (other.status, other.read()) == (200, octets)
    heard = Transport(f"{proxied.url}{below}", patience=Patience()).get(f"/{TRANSCRIPT}")
    assert heard.body == octets
    assert proxied.ask("OPTIONS", path).status == (404 if below else 200), "browsers ask the server first"
    file.unlink()
    assert proxied.ask("GET", path).status == 404


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/c/abc/metrics", "/c/abc/healthz"])
def test_what_is_for_the_operator_stays_inside(proxied: Proxied, path: str) -> None:
    reply = proxied.ask("GET", path)
    assert reply.status == 404
    assert b"va_edge_ldp" not in reply.read()


def test_a_large_body_is_refused(proxied: Proxied) -> None:
    reply = proxied.ask("PUT", proxied.town.path(3, 1), bytes(17_000_000), proxied.town.tokens[3])
    assert reply.status == 413


HEAD = "PUT {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"


BODY = "Content-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n"


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_request_that_trickles_in_is_cut(proxied: Proxied, part: str) -> None:
    """However a byte comes now and then: a proxy that waits for each anew would hold it for ever."""
    town = proxied.town
    head = HEAD.format(path=town.path(4, 1), token=town.tokens[4])
    size = len(town.report(4))
    begun = time.monotonic()
    with proxied.begin((head + (BODY.format(size=size) if part == "body" else "X-Slow: ")).encode()) as slow:
        slow.settimeout(0.4)
        ended = False
        while not ended and time.monotonic() - begun < 6 * SECONDS:
            try:
                ended = slow.recv(4096) is not None  # an answer, or the end
            except TimeoutError:
                with suppress(OSError):
                    slow.sendall(b"x")
            except OSError:
                ended = True
            assert proxied.ask("GET", "/v1/rounds/1").status == 200, "others are served meanwhile"
    assert ended
    assert time.monotonic() - begun < 3 * SECONDS


def test_nobody_logs_who_asked_for_what(proxied: Proxied) -> None:
    """Nor when the server does not answer: this one ends it, and comes last."""
    path = proxied.town.path(5, 1)
    proxied.ask("PUT", path, proxied.town.report(5), proxied.town.tokens[5])
    proxied.server.terminate()
    proxied.server.wait(30)
    assert proxied.ask("PUT", path, proxied.town.report(5), proxied.town.tokens[5]).status == 502
    time.sleep(0.2)
    for log in proxied.said.parent.glob("*.log"):
        assert "/v1/rounds" not in log.read_text(), log.name
