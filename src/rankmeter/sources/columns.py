"""Which column plays which role."""

import functools
from collections.abc import Mapping, Sequence

from rankmeter.errors import DataError, UsageError, shortened
from rankmeter.schema import Column, Table

SEPARATORS = ";|\t, "
"""What stands between the names of columns where a file was read with another separator than its own."""

IGNORED = str.maketrans("", "", "_-. ")


@functools.cache
def folded(name: str) -> str:
    """A column name without what does not count: case, `_`, `-`, `.` and blanks.

    >>> folded("Query-ID") == folded("query_id")
    True
    """
    return name.casefold().translate(IGNORED)


def choose(table: Table, names: Sequence[str], chosen: Mapping[str, str], label: str) -> dict[str, str]:
    """Role -> column, for every role of the table that the names (or the user) give a column to.

    Args:
        table: the roles.
        names: the columns there are.
        chosen: role -> column, as the user said; these win.
        label: the input, for messages.

    Raises:
        UsageError: a chosen column or role does not exist, or one column is chosen for two roles.
        DataError: a required role has no column, or a role has two.
    """
    out = _as_said(table, names, chosen, label)
    free = [name for name in names if name not in out.values()]
    for column in table.columns:
        if column.name not in out and (name := _by_name(column, free, label, table)) is not None:
            out[column.name] = name
    if any(column.required and column.name not in out for column in table.columns):
        raise DataError(_missing(names, out, label, table), "missing-column")
    return out


def _as_said(table: Table, names: Sequence[str], chosen: Mapping[str, str], label: str) -> dict[str, str]:
    """The user's choices, checked: each role has one column, and each column one role."""
    roles = {column.name: column.name for column in table.columns}
    roles |= {column.name.removesuffix("s"): column.name for column in table.columns if column.many}
    out: dict[str, str] = {}
    for role, name in chosen.items():
        if role not in roles:
            raise UsageError.unknown(f"role of a column of {label}", role, roles)
        if name not in names:
            raise UsageError(f'{label} has no column "{name}" for {role}; {_listed(names, {})}')
        if roles[role] in out:
            raise UsageError(f"{label} is given two columns for {role}: {out[roles[role]]} and {name}; leave one out")
        if name in out.values():
            other = next(known for known, column in out.items() if column == name)
            raise UsageError(
                f'the column "{name}" of {label} is given for two roles, {other} and {role}; '
                "a column has one role, so name another column or leave one of them out"
            )
        out[roles[role]] = name
    return out


def _listed(names: Sequence[str], taken: Mapping[str, str]) -> str:
    """The columns that there are, for messages, and which of them have a role already."""
    roles = {column: f" (taken as {role})" for role, column in taken.items() if role != column}
    shown = ", ".join(shortened(name or '""') + roles.get(name, "") for name in names)
    return f"its columns are {shown}" if names else "it has no columns"


def _by_name(column: Column, names: Sequence[str], label: str, table: Table) -> str | None:
    """The column whose name is accepted for that role."""
    for accepted in ((column.name, *column.names), column.last_names):
        known = {folded(name) for name in accepted}
        found = [name for name in names if folded(name) in known]
        if len(found) > 1:
            option = "--qrels-columns" if table.name.startswith("qrels") else "--run-columns"
            raise DataError(
                f"{label} has two columns for {column.name}: {' and '.join(found)}; "
                f"choose one with {option} {column.name}={found[0]}",
                "two-columns",
            )
        if found:
            return found[0]
    return None


def _missing(names: Sequence[str], taken: Mapping[str, str], label: str, table: Table) -> str:
    """The sentence about required roles that no column has."""
    missing = [column for column in table.columns if column.required and column.name not in taken]
    roles = " and ".join(column.name for column in missing)
    accepted = ", ".join((missing[0].name, *missing[0].names, *missing[0].last_names))
    option = "--qrels-columns" if table.name.startswith("qrels") else "--run-columns"
    if len(names) == 1 and ({*names[0]} & {*SEPARATORS}):
        return (
            f'{label} has one column, "{shortened(names[0])}"; its fields must be separated by commas in .csv files, '
            "by tabs in .tsv files, or name its format with --qrels-format or --run-format"
        )
    return (
        f"{label} has no column for {roles}; {_listed(names, taken)}. "
        f"Accepted for {missing[0].name}: {accepted}; or choose with {option} {missing[0].name}=COLUMN"
    )
