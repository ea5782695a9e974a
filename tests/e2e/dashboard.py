"""Ray's dashboard, as far as KubeRay asks it about the jobs of RayJobs."""

import json
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JOBS = "/api/jobs/"


class Dashboard:
    """A proxy on loopback that answers for every cluster: each job that is asked for runs."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Question)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Give the address for HTTP_PROXY."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        """Answer from now on."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class _Question(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Tell of a job that it runs; of anything else there is nothing."""
        found: object = [] if self.path.endswith(JOBS) else {}
        if job := self.path.partition(JOBS)[2]:
            found = {"status": "RUNNING", "job_id": job, "submission_id": job}
        body = json.dumps(found).encode()
        with suppress(ConnectionError):
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_POST(self) -> None:
        """Take a question with a body as any other: stopping a job, for instance."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""
