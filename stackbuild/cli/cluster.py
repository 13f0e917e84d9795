"""`worker`, `scheduler`: the other machines of `build --on`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import app, argument, option
from stackbuild.cli.shared_options import TlsArguments, sharing

if TYPE_CHECKING:
    from stackbuild.cluster.address import ClusterAddress

Address = Annotated[
    str, argument(metavar="ADDRESS", help="tcp+tls://HOST:PORT, or tcp://127.0.0.1:PORT on one machine.")
]


@app.command()
@sharing(TlsArguments)
def worker(
    address: Address,
    name: Annotated[str, option("--name", metavar="NAME", help="As builds show it; the host's name by default.")] = "",
    jobs: Annotated[
        int, option("--jobs", "-j", min=0, max=1024, help="Jobs at once over all steps; 0 means one a core.")
    ] = 0,
    slots: Annotated[
        int, option("--steps", metavar="N", min=0, max=256, help="Steps at once; 0 means as many as jobs.")
    ] = 0,
    memory: Annotated[
        str, option("--memory", metavar="SIZE", help="Memory for steps, as 16G; all of the machine by default.")
    ] = "",
    *,
    tls: TlsArguments,
) -> None:
    """Do build steps for the clients of a scheduler.

    It offers its cores, memory, runners and GPUs, and keeps a store of its own. Inputs come from the remotes of remotes.yaml,
    outputs are signed and pushed there: one needs `write: true` and `sign`. It waits for a scheduler that is not there yet.
    Whoever reaches an open scheduler port runs code on its workers: beyond loopback TLS is required.

    Example: stackbuild worker tcp+tls://build.acme.org:8786 --tls-ca ca.pem --tls-cert w1.pem --tls-key w1.key
    """
    from stackbuild.cluster.open import WorkerOrder, run_worker
    from stackbuild.core.sizes import size_of
    from stackbuild.remote.settings import read_settings
    from stackbuild.views.console import err

    order = WorkerOrder(name, jobs, slots, size_of(memory) if memory else 0)
    run_worker(_parse(address, tls), order, read_settings(), lambda line: err().print(line, markup=False))


@app.command()
@sharing(TlsArguments)
def scheduler(address: Address, *, tls: TlsArguments) -> None:
    """Give the steps of builds to workers.

    It is Dask's scheduler, with the settings that steps of hours need: no stealing, three attempts where workers die, no
    web pages. It holds no output. Whoever reaches its port runs code on all workers: beyond loopback TLS is required.

    Example: stackbuild scheduler tcp+tls://0.0.0.0:8786 --tls-ca ca.pem --tls-cert s.pem --tls-key s.key
    """
    from stackbuild.cluster.open import run_scheduler
    from stackbuild.views.console import err

    run_scheduler(_parse(address, tls), lambda where: err().print(f"listening at {where}", markup=False))


def _parse(address: str, tls: TlsArguments) -> ClusterAddress:
    from stackbuild.cluster.address import TlsFiles, parse_address

    return parse_address(address, TlsFiles(tls.tls_ca, tls.tls_cert, tls.tls_key))
