"""Measures of ranked retrieval over Parquet, TREC text and frames: the numbers of trec_eval at the speed of reading.

>>> import rankmeter
>>> qrels = {"q1": {"d1": 1, "d2": 0}}
>>> run = {"q1": {"d2": 2.0, "d1": 1.0}}
>>> result = rankmeter.evaluate(qrels, run, ["RR", "P@1"])
>>> result.summary.select("measure", "mean").rows()
[('RR', 0.5), ('P@1', 0.0)]
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankmeter.api import evaluate, measures
    from rankmeter.errors import DataError, MemoryLimitError, RankmeterError, StorageError, UsageError
    from rankmeter.result import Result

_HOMES = {
    "DataError": "errors",
    "MemoryLimitError": "errors",
    "RankmeterError": "errors",
    "Result": "result",
    "StorageError": "errors",
    "UsageError": "errors",
    "evaluate": "api",
    "measures": "api",
}
"""Public name -> the module it lives in; loaded at first use, so that the command line starts quickly."""

__all__ = [
    "DataError",
    "MemoryLimitError",
    "RankmeterError",
    "Result",
    "StorageError",
    "UsageError",
    "evaluate",
    "measures",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"rankmeter.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
