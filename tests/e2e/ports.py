"""Free ports on loopback."""

import socket
from contextlib import ExitStack


def free_ports(count: int, host: str = "127.0.0.1") -> tuple[int, ...]:
    """Give different ports that nobody listens on now."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((host, 0))
        return tuple(each.getsockname()[1] for each in sockets)


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Say whether somebody accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0
