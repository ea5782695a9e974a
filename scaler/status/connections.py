"""Connections to the status port: accepted, secured, bounded."""

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from scaler.certificates import Certificates
from scaler.settings import Address

MAX_CONNECTIONS = 200
"""Each has a thread, so that memory is bounded; a further one ends the oldest."""

_Socket: TypeAlias = "socket.socket | tuple[bytes, socket.socket]"
"""What socketserver calls a request."""


class Listener(ThreadingHTTPServer):
    """Let no open request delay the process's end, and no crowd of clients fill its memory.

    Each connection shakes hands with the certificates that are in use when it comes; those that are
    open go on when others take their place.
    """

    daemon_threads = True
    # A restarted process must get its port back while old connections linger.
    allow_reuse_address = True
    # The default of 5 makes a probe wait for seconds once a few clients connect at a time.
    request_queue_size = 128

    def __init__(
        self,
        address: Address,
        requests: type[BaseHTTPRequestHandler],
        certificates: Certificates | None,
    ) -> None:
        """Bind the port; without certificates it is plain HTTP.

        Raises:
            OSError: the port can't be had.
        """
        self.certificates = certificates
        self._lock = threading.Lock()
        self._open: dict[_Socket, None] = {}
        """Guarded by _lock; the oldest connection first."""
        super().__init__((address.host, address.port), requests)

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection, with the certificates that are in use now.

        The handshake belongs to the connection's thread: a slow client must not stop others.
        """
        accepted, where = super().get_request()
        if self.certificates is None:
            return accepted, where
        context = self.certificates.state.identity.context
        wrapped = context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
        return wrapped, where

    def process_request(self, request: _Socket, client_address: object) -> None:
        """Start a thread for a connection; where there are too many the oldest one ends.

        The oldest, not the newest: a crowd that sends nothing must not keep probes out.
        """
        with self._lock:
            self._open[request] = None
            oldest = next(iter(self._open)) if len(self._open) > MAX_CONNECTIONS else None
            if oldest is not None:
                del self._open[oldest]
        if oldest is not None:
            _hang_up(oldest)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        """Close the port, and hang up on those who are still connected."""
        super().server_close()
        with self._lock:
            for request in self._open:
                _hang_up(request)

    def shutdown_request(self, request: _Socket) -> None:
        """Close a connection, and forget it."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up; defects are logged where they happen."""


def _hang_up(request: _Socket) -> None:
    """End a connection at once, without a word of TLS before it: its thread may be amid one."""
    if isinstance(request, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(request, socket.SHUT_RDWR)
