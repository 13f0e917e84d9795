"""Which hosts of a URL, and which addresses, are this machine."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str | None) -> bool:
    """Whether a host of a URL is this machine by its name: nobody else reads what is sent to it."""
    return host in LOOPBACK


def is_inward(address: str) -> bool:
    """Whether an IP address is this machine's or its link's: where a machine's own services listen, and a cloud's tell
    it its secrets (169.254.169.254). No server elsewhere has a reason to lead there."""
    place = ip_address(address.partition("%")[0])
    if isinstance(place, IPv6Address) and place.ipv4_mapped:
        place = place.ipv4_mapped
    return place.is_loopback or place.is_link_local or place.is_unspecified


def refuse_inward(address: str) -> None:
    """Raises ConnectionRefusedError for such an address: of the other end of a connection that a server elsewhere led to."""
    if is_inward(address):
        raise ConnectionRefusedError(f"redirected to {address}, which is this machine or its link")
