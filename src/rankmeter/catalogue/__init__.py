"""The measures: each declared once, with its kernel, beside its like. Importing this fills the registry."""

from rankmeter.catalogue import binary, counts, diverse, expected, graded, incomplete, interpolated, models, sets
from rankmeter.catalogue.registry import MEASURES, SUITES, Measure, Parameter

__all__ = [
    "MEASURES",
    "SUITES",
    "Measure",
    "Parameter",
    "binary",
    "counts",
    "diverse",
    "expected",
    "graded",
    "incomplete",
    "interpolated",
    "models",
    "sets",
]
