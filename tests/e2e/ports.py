"""Free ports on loopback."""

import socket
from contextlib import ExitStack

_held: list[socket.socket] = []
"""One for each port that was given: see free_ports."""


def free_ports(count: int, host: str = "127.0.0.1") -> tuple[int, ...]:
    """Give different ports that nobody else gets while this process lives.

    They stay bound without listening, so that neither another run nor a connection to somewhere
    else takes one meanwhile. Who is told the number can listen there with SO_REUSEADDR, as Go does.
    """
    with ExitStack() as binding:
        sockets = [binding.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind((host, 0))
        binding.pop_all()
    _held.extend(sockets)
    return tuple(each.getsockname()[1] for each in sockets)


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Say whether somebody accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0
