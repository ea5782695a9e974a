"""The text of a policy, without what opens Prometheus to whoever reads it."""

import re
from collections.abc import Mapping
from typing import cast

import yaml

from scaler.policyfile.document import Scalar, Tree, read_documents

LEFT_OUT = "left-out"


class _Dumper(yaml.SafeDumper):
    """Quote text that a policy's reader would take for a number."""


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+[eE][-+]?\d+$"), list("-+0123456789")
)


def without_secrets(text: str) -> str:
    """Write a good policy anew: no comments, header values, tokenFile, caFile, URL credentials.

    Comments go because one may hold what was once a value.
    """
    documents, problems = read_documents(text)
    if problems or not documents or not isinstance(documents[0], Mapping):
        return ""
    tree = dict(documents[0])
    if isinstance(tree.get("prometheus"), Mapping):
        tree["prometheus"] = _prometheus(cast("Mapping[str, Tree]", tree["prometheus"]))
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def _prometheus(section: Mapping[str, Tree]) -> dict[str, Tree]:
    kept = {key: value for key, value in section.items() if key not in {"tokenFile", "caFile"}}
    headers, url = kept.get("headers"), kept.get("url")
    if isinstance(headers, Mapping):
        kept["headers"] = cast("dict[str, Scalar]", dict.fromkeys(headers, LEFT_OUT))
    if isinstance(url, str):
        kept["url"] = re.sub(r"//[^/]*@", "//", url)
    return kept
