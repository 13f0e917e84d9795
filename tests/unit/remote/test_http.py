"""What a hostile server may answer to a request: where logins go, and addresses and lengths that are none.

No socket is opened: the answers come from a function in place of the connections.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from urllib3 import HTTPResponse
from urllib3.util import connection

from stackbuild.core.http_pool import SocketPool
from stackbuild.remote.faults import BlobAbsent, ListDamaged, RemoteFault, RemoteUnreachable
from stackbuild.remote.files import WebFolder
from stackbuild.remote.http import HttpClient, HttpRequest
from stackbuild.remote.registry import OciRegistry
from support.remotes import QUICK

BASIC = "Basic " + base64.b64encode(b"user:secret").decode()


@dataclass
class Web:
    """Answers by method and URL: status and headers. `seen` has each request with its Authorization."""

    answer: Callable[[str, str], tuple[int, dict[str, str], bytes]]
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    asked: list[tuple[str, bool]] = field(default_factory=list)
    """URLs, and whether each was named by a server elsewhere."""

    def request(
        self, pool: SocketPool, method: str, url: str, headers: Mapping[str, str], body: object = None, is_outward: bool = False
    ) -> HTTPResponse:
        self.seen.append((method, url, headers.get("Authorization", "")))
        self.asked.append((url, is_outward))
        status, said, text = self.answer(method, url)
        return HTTPResponse(io.BytesIO(text), said, status, preload_content=False, request_method=method)

    def logins(self) -> list[str]:
        """The URLs that were sent the login."""
        return [url for _, url, said in self.seen if said == BASIC]


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    made = Web(lambda method, url: (404, {}, b""))
    monkeypatch.setattr(SocketPool, "request", lambda pool, *given: made.request(pool, *given))
    return made


def registry(root: str = "https://reg.example/v2/x/") -> OciRegistry:
    return OciRegistry("oci://reg.example/x", HttpClient(root, lambda host: ("user", "secret"), QUICK), is_written=True)


def status_of(asked: OciRegistry) -> int:
    with asked.client.send(HttpRequest("GET", "manifests/t")) as answer:
        return answer.status


@pytest.mark.parametrize("challenge", ['Bearer realm="https://evil.example/tok",service="x"', 'Basic realm="x"'])
def test_who_a_request_is_redirected_to_gets_no_login(web: Web, challenge: str) -> None:
    answers = {
        "https://reg.example/v2/x/manifests/t": (307, {"Location": "https://cdn.example/t"}, b""),
        "https://cdn.example/t": (401, {"WWW-Authenticate": challenge}, b""),
    }
    web.answer = lambda method, url: answers.get(url, (200, {}, b'{"token": "t"}'))
    assert status_of(registry()) == 401
    assert web.logins() == [] and not [url for _, url, _ in web.seen if "evil" in url]


@pytest.mark.parametrize("realm", ["http://evil.example/tok", "http://127.0.0.1:7/tok", "http://localhost:7/tok"])
def test_a_token_server_without_tls_gets_no_login(web: Web, realm: str) -> None:
    """Loopback is one of this machine's only to a registry that is there, too."""
    web.answer = lambda method, url: (401, {"WWW-Authenticate": f'Bearer realm="{realm}"'}, b"")
    assert status_of(registry()) == 401
    assert web.logins() == []


def test_the_login_goes_to_the_registrys_own_token_server(web: Web) -> None:
    def answer(method: str, url: str) -> tuple[int, dict[str, str], bytes]:
        if "auth.example" in url:
            return 200, {}, b'{"token": "t"}'
        if web.seen[-1][2] == "Bearer t":
            return 200, {}, b""
        return 401, {"WWW-Authenticate": 'Bearer realm="https://auth.example/tok"'}, b""

    web.answer = answer
    assert status_of(registry()) == 200
    assert web.logins() == ["https://auth.example/tok?"]


@pytest.mark.parametrize(
    ("root", "place"),
    [
        ("http://localhost:5000/v2/x/", ("localhost", 5000)),
        ("http://127.0.0.1:5000/v2/x/", ("127.0.0.1", 5000)),
        ("http://lan:5000/v2/x/", ("proxy.example", 3128)),
    ],
)
def test_no_proxy_stands_between_this_machine_and_itself(
    root: str, place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login goes in clear to a registry on loopback: a proxy would read it."""
    reached: list[tuple[str, int]] = []

    def connect(address: tuple[str, int], *given: object, **named: object) -> None:
        reached.append(address)
        raise OSError("no socket in this test")

    monkeypatch.setattr(connection, "create_connection", connect)
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(RemoteUnreachable):
        status_of(registry(root))
    assert set(reached) == {place}


def put_blob(asked: OciRegistry) -> None:
    asked.put_blob("0" * 64, io.BytesIO(b"blob"), 4, lambda size: None)


@pytest.mark.parametrize("url", ["http://[::1", "https://[::1", "https://a:99999/"])
@pytest.mark.parametrize(("status", "header"), [(302, "Location"), (401, "WWW-Authenticate")])
def test_a_url_that_is_none(web: Web, url: str, status: int, header: str) -> None:
    said = url if header == "Location" else f'Bearer realm="{url}"'
    web.answer = lambda method, place: (status, {header: said}, b"")
    with pytest.raises(RemoteFault, match="not a URL"):
        status_of(registry())


def test_a_realm_that_is_missing_is_asked_for_nothing(web: Web) -> None:
    web.answer = lambda method, url: (401, {"WWW-Authenticate": 'Bearer service="x"'}, b"")
    assert status_of(registry()) == 401 and len(web.seen) == 1


@pytest.mark.parametrize("url", ["http://[::1", "https://a:99999/"])
def test_an_upload_at_a_url_that_is_none(web: Web, url: str) -> None:
    web.answer = lambda method, place: (202, {"Location": url}, b"")
    with pytest.raises(RemoteFault, match="not a URL"):
        put_blob(registry())


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "", "²"])
def test_a_length_that_is_none(web: Web, length: str) -> None:
    web.answer = lambda method, url: (200, {"Content-Length": length}, b"")
    with pytest.raises(RemoteFault, match="a blob without a length"):
        registry().blob_size("0" * 64)


@pytest.mark.parametrize(
    "place", ["https://evil.example/up", "http://reg.example/v2/up", "https://reg.example:7/up", "//evil.example/up"]
)
def test_an_upload_on_another_server_is_not_sent(web: Web, place: str) -> None:
    web.answer = lambda method, url: (202 if method == "POST" else 201, {"Location": place}, b"")
    with pytest.raises(RemoteFault, match="a place on another server"):
        put_blob(registry())
    assert {method for method, _, _ in web.seen} == {"POST"}


@pytest.mark.parametrize("place", ["/v2/x/blobs/uploads/1", "https://reg.example:443/v2/x/blobs/uploads/1?state=a"])
def test_an_upload_on_the_registry_itself(web: Web, place: str) -> None:
    web.answer = lambda method, url: (202 if method == "POST" else 201, {"Location": place}, b"")
    put_blob(registry())
    assert [method for method, _, _ in web.seen] == ["POST", "PUT"]


def test_the_text_of_a_refusal_is_one_short_line(web: Web) -> None:
    web.answer = lambda method, url: (403, {}, b"\x1b]0;x\x07\n::error::hi\n" + b"x" * 10_000)
    with pytest.raises(RemoteFault) as fault:
        put_blob(registry())
    assert "HTTP 403 to POST" in str(fault.value)
    assert str(fault.value).isprintable() and len(str(fault.value)) < 1000


def test_a_url_of_a_redirection_is_one_short_line(web: Web) -> None:
    web.answer = lambda method, url: (302, {"Location": "http://[\x9b" + "x" * 10_000}, b"")
    with pytest.raises(RemoteFault) as fault:
        status_of(registry())
    assert str(fault.value).isprintable() and len(str(fault.value)) < 1000


def test_a_list_of_tags_has_a_bound(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackbuild.remote.registry.MOST_TAGS", 5)
    web.answer = lambda method, url: (200, {}, json.dumps({"tags": ["r-1", "x" * 129, 7, "c-1"]}).encode())
    assert registry().tags() == {"r-1", "c-1"}
    web.answer = lambda method, url: (200, {}, json.dumps({"tags": list("abcdef")}).encode())
    assert registry().tags() is None


@pytest.mark.parametrize("other", ["ab ab", f"x-{'0' * 64}", f"r-{'0' * 65}", "\x1b[2J"])
def test_an_exports_list_with_a_line_that_is_not_a_tag_is_not_used(web: Web, other: str) -> None:
    good = f"r-{'0' * 64}"
    export = WebFolder("https://reg.example/x", HttpClient("https://reg.example/x/", limits=QUICK))
    web.answer = lambda method, url: (200, {}, f"{good}\n".encode())
    assert export.tags() == {good}
    web.answer = lambda method, url: (200, {}, f"{good}\n{other}\n".encode())
    with pytest.raises(ListDamaged, match="is not a tag"):
        export.tags()


def test_a_url_that_the_server_names_is_asked_as_one_of_outside(web: Web) -> None:
    """Of a redirection and of a token's address, on another host. Not of this server's own, nor of this machine's."""
    web.answer = lambda method, url: (
        (401, {"WWW-Authenticate": 'Bearer realm="https://auth.example/token"'}, b"")
        if url.endswith("manifests/t")
        else (307, {"Location": "https://blobs.example/x"}, b"")
    )
    assert status_of(registry()) == 401
    for root in ("https://reg.example/v2/x/", "http://127.0.0.1:5000/v2/x/"):
        with pytest.raises(RemoteFault), registry(root).client.send(HttpRequest("GET", "blobs/x")):
            pass
    hosts = {(url.split("/")[2], is_outward) for url, is_outward in web.asked}
    assert hosts == {
        ("reg.example", False), ("auth.example", True), ("blobs.example", True), ("127.0.0.1:5000", False), ("blobs.example", False),
    }  # fmt: skip


ABSENT = b'{"errors":[{"code":"MANIFEST_BLOB_UNKNOWN","message":"blob unknown to registry"}]}'


@pytest.mark.parametrize(("refusals", "is_taken"), [(1, True), (QUICK.writes - 1, True), (99, False)])
def test_a_manifest_whose_blob_a_registry_does_not_see_for_a_moment_is_sent_again(
    web: Web, refusals: int, is_taken: bool
) -> None:
    """Debian's registry answers so while another client sends the same blob."""
    web.answer = lambda method, url: (400, {}, ABSENT) if len(web.seen) <= refusals else (201, {}, b"")
    if is_taken:
        registry().put_manifest("t", b"{}")
    else:
        with pytest.raises(BlobAbsent, match="HTTP 400 to PUT"):
            registry().put_manifest("t", b"{}")
    assert len(web.seen) == min(refusals + 1, QUICK.writes)


def test_another_refusal_of_a_manifest_is_not_tried_again(web: Web) -> None:
    web.answer = lambda method, url: (400, {}, b'{"errors":[{"code":"MANIFEST_INVALID"}]}')
    with pytest.raises(RemoteFault, match="MANIFEST_INVALID") as fault:
        registry().put_manifest("t", b"{}")
    assert len(web.seen) == 1 and not isinstance(fault.value, BlobAbsent)
