"""The table of networks has what the networks are."""

from __future__ import annotations

from stackbuild.bench.nets import NETS
from stackbuild.tables.networks import NETWORKS, TRANSFORMERS


def test_the_table_names_every_network_with_its_sizes() -> None:
    assert {name: tuple(net.sizes) for name, net in NETS.items()} == NETWORKS
    assert tuple(sorted(name for name, net in NETS.items() if net.optimiser)) == TRANSFORMERS
