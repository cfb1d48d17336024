"""How many examples of a law hypothesis tries, and how a failure is repeated.

Without ``--thorough`` a quarter of them, with it all; the same ones each time, so that a commit passes twice or never, but with
``--hypothesis-seed=random``. A failure prints its example, and a decorator that repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import HealthCheck, settings

ALL = 100
"""Examples of a law that says no number of its own, as hypothesis has it."""


def load_profile(*, thorough: bool, fresh: bool) -> None:
    """Choose which examples are tried, before the tests are imported.

    Args:
        thorough: all, rather than a quarter.
        fresh: others each time.
    """
    number = ALL if thorough else ALL // 4
    settings.register_profile("here", max_examples=number, deadline=None, derandomize=not fresh, print_blob=True)
    settings.load_profile("here")


def examples(number: int, suppress: Iterable[HealthCheck] = ()) -> settings:
    """Settings of a law that ``--thorough`` tries on so many examples."""
    share = settings().max_examples / ALL
    return settings(max_examples=max(round(number * share), 1), suppress_health_check=list(suppress))
