"""The small world of the evaluation's tests."""

from tests.evaluation.conftest import model  # noqa: F401
