"""How many examples of a law hypothesis tries, and how a failure is repeated.

Without ``--thorough`` a quarter of them, the same ones each time; with it all of them, other ones each time. A failure prints
its example, and a decorator that repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import HealthCheck, settings

ALL = 100
"""Examples of a law that says no number of its own, as hypothesis has it."""

settings.register_profile("quick", max_examples=ALL // 4, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", max_examples=ALL, deadline=None, derandomize=False, print_blob=True)


def load_profile(*, thorough: bool) -> None:
    """Choose how many examples are tried, before the tests are imported."""
    settings.load_profile("thorough" if thorough else "quick")


def examples(number: int, suppress: Iterable[HealthCheck] = ()) -> settings:
    """Settings of a law that ``--thorough`` tries on so many examples."""
    share = settings().max_examples / ALL
    return settings(max_examples=max(round(number * share), 1), suppress_health_check=list(suppress))
