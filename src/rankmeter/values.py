"""The compiled part of the store: which queries were seen, and where their values go."""

from typing import Any

from rankmeter.compiler import compiled
from rankmeter.memory import bare, fetch_ahead
from rankmeter.words import AHEAD


@compiled
def put_rows(table: Any, query: Any, columns: Any) -> None:
    """Write the values of lists, one row of `columns` a measure, into a flat table with a row for each query."""
    (rows,) = bare((table,))
    n_lists, width = len(query), len(columns)
    for n in range(n_lists):
        if n + AHEAD < n_lists:
            fetch_ahead(rows, width * max(query[n + AHEAD], 0))
            fetch_ahead(rows, width * max(query[n + AHEAD], 0) + width - 1)
        if query[n] >= 0:
            for m in range(width):
                rows[width * query[n] + m] = columns[m, n]


@compiled
def mark(seen: Any, query: Any) -> int:
    """Mark queries as seen; return how many were so before."""
    again = 0
    for i in range(len(query)):
        if query[i] >= 0:
            again += seen[query[i]]
            seen[query[i]] = 1
    return again
