"""Read the policy: YAML text into a Policy that can't be wrong, or every problem of it.

One table of fields (`fields`) is read by the parser and written out as the JSON Schema, so that
the two can't drift apart.
"""

from scaler.policyfile.parse import parse_policy, read_policy
from scaler.policyfile.schema import schema
from scaler.policyfile.watch import PolicyError, PolicyFile, PolicyState

__all__ = ["PolicyError", "PolicyFile", "PolicyState", "parse_policy", "read_policy", "schema"]
