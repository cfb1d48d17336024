"""How many examples hypothesis tries, and how a failure is repeated.

Without a profile, a quarter of them and the same ones each time; with ``--hypothesis-profile=ci`` all of them, other ones each
time. A failure prints its example, and a decorator that repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import HealthCheck, settings

ALL = 100
"""Examples of a law that says no number of its own, as hypothesis has it."""

settings.register_profile("local", max_examples=ALL // 4, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("ci", max_examples=ALL, deadline=None, derandomize=False, print_blob=True)
settings.load_profile("local")


def examples(number: int, suppress: Iterable[HealthCheck] = ()) -> settings:
    """Settings of a law that is tried on so many examples in CI."""
    share = settings.default.max_examples / ALL if settings.default else 1
    return settings(max_examples=max(round(number * share), 1), suppress_health_check=list(suppress))
