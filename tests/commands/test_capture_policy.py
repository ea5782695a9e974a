"""A policy without its secrets is the same policy."""

from dataclasses import replace
from pathlib import Path

import pytest

from scaler.commands.capture_policy import LEFT_OUT, without_secrets
from scaler.core.policy import Policy
from scaler.policyfile import parse_policy

DEPLOYED = Path(__file__).parents[2] / "deploy" / "base" / "policy.yaml"
SECRET = "hunter2"


def parsed(text: str) -> Policy:
    """Parse a good policy."""
    policy = parse_policy(text)
    assert isinstance(policy, Policy), policy
    return policy


def test_the_shipped_policy_means_the_same() -> None:
    """Every key that there is, in its order; pools are placed by it."""
    before = parsed(DEPLOYED.read_text(encoding="utf-8"))
    after = parsed(without_secrets(DEPLOYED.read_text(encoding="utf-8")))
    assert after == before
    assert tuple(after.pools) == tuple(before.pools)


def test_what_opens_prometheus_is_left_out() -> None:
    """Names of headers stay, so that it can be seen that there were some."""
    text = f"""
prometheus:
  url: https://prometheus.example:9090/path
  tokenFile: /var/run/{SECRET}
  caFile: /etc/{SECRET}.pem
  headers: {{X-Scope-OrgID: {SECRET}, Authorization: &a Bearer {SECRET}}}
  timeout: 20s
# once: {SECRET}
"""
    cleaned = without_secrets(text)
    assert SECRET not in cleaned
    before, after = parsed(text).prometheus, parsed(cleaned).prometheus
    headers = {"X-Scope-OrgID": LEFT_OUT, "Authorization": LEFT_OUT}
    assert after == replace(before, token_file="", ca_file="", headers=headers)


def test_credentials_in_the_address_are_left_out_even_where_a_policy_may_have_none() -> None:
    """Two locks are better than one."""
    cleaned = without_secrets(f"prometheus: {{url: 'http://me:{SECRET}@host:9090/x@y'}}")
    assert SECRET not in cleaned
    assert "http://host:9090/x@y" in cleaned


@pytest.mark.parametrize("value", ["1e5", "true", "null", "0x10", "08:00", "1_000", "'", "~", "é"])
def test_text_stays_text(value: str) -> None:
    """A quoted value that looks like something else is quoted again."""
    text = f'queries: {{"{value}": "{value}"}}'
    before = parse_policy(text)
    assert parse_policy(without_secrets(text)) == before


@pytest.mark.parametrize("text", ["", "# nothing\n", "[1]", "a: [", "null"])
def test_what_is_no_mapping_is_nothing(text: str) -> None:
    """Such a file is refused before, and never copied as it is."""
    assert without_secrets(text) == ""
