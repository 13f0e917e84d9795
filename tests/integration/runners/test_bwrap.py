"""What bubblewrap's sandboxes let a process do, with the command line that all of them share."""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
from hashlib import sha256
from pathlib import Path

import pytest

from stackbuild.runners import bwrap
from stackbuild.sources import oci
from stackbuild.sources.oci_layers import unpack

pytestmark = pytest.mark.sandbox
ROOT = ("--ro-bind", "/", "/")


def inside(script: str, user_namespace: bool, capabilities: tuple[str, ...] = ()) -> str:
    sandbox = bwrap.Bwrap(
        bwrap.bwrap_path(), ROOT, env=(("A", "b"),), user_namespace=user_namespace, capabilities=capabilities
    )
    return sandbox.run("/bin/sh", "-c", script)[1]


@pytest.fixture(params=[True, False], ids=["user namespace", "the machine's users"])
def user_namespace(request: pytest.FixtureRequest) -> bool:
    if not request.param and os.geteuid() != 0:
        pytest.skip("only root has namespaces without one of users")
    return bool(request.param)


def test_the_kernels_settings_cannot_be_written(user_namespace: bool) -> None:
    """Writes the value that is there, so a failure of this test changes nothing on the machine."""
    script = 'v=$(cat /proc/sys/vm/swappiness); (echo "$v" > /proc/sys/vm/swappiness) 2>/dev/null || echo refused'
    assert inside(script, user_namespace) == "refused\n"


def test_only_the_named_capabilities_and_variables_are_there(user_namespace: bool) -> None:
    script = "grep CapEff /proc/self/status; env | sort"
    assert inside(script, user_namespace).split() == ["CapEff:", "0000000000000000", "A=b", "PWD=/"]
    assert "CapEff:\t0000000000000002\n" in inside(script, user_namespace, ("CAP_DAC_OVERRIDE",))


def test_processes_and_networks_of_the_machine_are_not_seen(user_namespace: bool) -> None:
    script = "echo $$; tail -n +3 /proc/net/dev | cut -d: -f1; readlink /proc/self/ns/ipc /proc/self/ns/uts; hostname"
    pid, interface, *namespaces, name = inside(script, user_namespace).split()
    assert int(pid) < 10 and interface == "lo" and name == "stackbuild"
    assert namespaces == [n for n in namespaces if n not in {os.readlink(f"/proc/self/ns/{k}") for k in ("ipc", "uts")}]
    assert len(namespaces) == 2


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel has no autogroups")
def test_a_session_of_its_own_has_the_callers_niceness(user_namespace: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it `nice stackbuild build` would compile as if there were no `nice`."""
    monkeypatch.setattr(bwrap, "niceness", lambda: 7)
    for _ in range(20):  # the kernel takes ten such values a second, from whatever runs beside this
        text = inside("cat /proc/self/autogroup", user_namespace)
        if text.split()[1:] == ["nice", "7"]:
            break
        time.sleep(0.3)
    assert text.split()[1:] == ["nice", "7"]
    monkeypatch.setattr(bwrap, "niceness", lambda: 0)
    assert inside("cat /proc/self/autogroup", user_namespace).split()[1:] == ["nice", "0"]


def layer(folder: Path, name: str, mode: int) -> dict[str, str]:
    """A blob with `usr/` of that mode and one file in it; its entry in a manifest."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        usr = tarfile.TarInfo("usr")
        usr.type, usr.mode = tarfile.DIRTYPE, mode
        tar.addfile(usr)
        tar.addfile(tarfile.TarInfo(f"usr/{name}"))
    return blob(folder, data.getvalue())


def blob(folder: Path, content: bytes) -> dict[str, str]:
    name = sha256(content).hexdigest()
    (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
    (folder / "blobs" / "sha256" / name).write_bytes(content)
    return {"digest": f"sha256:{name}"}


def test_a_layer_is_put_into_a_folder_that_an_earlier_one_made_read_only(tmp_path: Path) -> None:
    layout, out = tmp_path / "layout", tmp_path / "out"
    layers = [layer(layout, "lower", 0o555), layer(layout, "upper", 0o555)]
    manifest = {"mediaType": oci.MANIFESTS[0], "layers": layers}
    index = {"schemaVersion": 2, "manifests": [blob(layout, json.dumps(manifest).encode())]}
    (layout / "index.json").write_text(json.dumps(index))
    out.mkdir()
    unpack(oci.Layout(layout), out)
    assert sorted(path.name for path in (out / "usr").iterdir()) == ["lower", "upper"]
    (out / "usr").chmod(0o755)
