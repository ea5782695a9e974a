"""Ports that are given stay ours until a program of the run listens there."""

import socket

import pytest

from tests.e2e.ports import free_ports, listens


def test_nobody_else_gets_a_port_that_was_given() -> None:
    """Another run asks the kernel for ports too, and takes none by number unless it is told to."""
    (port,) = free_ports(1)
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    assert not listens(port)


def test_whoever_is_told_a_port_can_listen_there() -> None:
    """As Go's servers do: with SO_REUSEADDR."""
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        assert listens(port)
    assert not listens(port)
