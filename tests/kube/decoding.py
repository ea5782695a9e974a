"""Decode one object of a test."""

import json

from scaler.core.model import Kind, Workload
from scaler.kube.decode import decode
from scaler.kube.forms import Record
from tests.kube.documents import Document


def one(kind: Kind, document: object) -> Record:
    """Decode one object that must be in order."""
    decoded = decode(kind, json.dumps(document).encode())
    assert decoded.problems == ()
    (record,) = decoded.records
    return record


def a_workload(document: Document) -> Workload:
    """Decode a Workload."""
    record = one(Kind.WORKLOADS, document)
    assert isinstance(record, Workload)
    return record
