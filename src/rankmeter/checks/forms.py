"""Ids that are the same but for their form: case, blanks around them, Unicode form, leading zeros, `1.0` for 1."""

from collections.abc import Mapping

import polars as pl

SAMPLE = 1000
"""Ids of one side that are looked at."""

ID = pl.col("id")
FORMS: Mapping[str, pl.Expr] = {
    "case": ID.str.to_lowercase(),
    "blanks around them": ID.str.strip_chars(),
    "the Unicode form": ID.str.normalize("NFKC"),
    "leading zeros": ID.str.replace(r"^0+(.)", "$1"),
    "a fraction of 0 (1.0 for 1)": ID.str.replace(r"^([0-9]+)\.0+$", "$1"),
    "a path or prefix in front of them": ID.str.replace(r"^.*[/:#]", ""),
}
"""What two ids may differ in -> the id without it."""


def likeness(ids: pl.Series, others: pl.Series) -> str:
    """What ids of two sides differ in that would otherwise be the same; empty where there is no such thing.

    >>> likeness(pl.Series(["Q1"]), pl.Series(["q1", "q2"]))
    'they agree but for case (Q1 and q1)'
    """
    mine = ids.cast(pl.String).unique(maintain_order=True).head(SAMPLE).drop_nulls()
    its = others.cast(pl.String).drop_nulls()
    for name, form in FORMS.items():
        plain = its.to_frame("id").select(form).to_series()
        here = mine.to_frame("id").select(form).to_series()
        same = here.is_in(plain.implode()) & ~mine.is_in(its.implode())
        if same.any():
            place = int(same.arg_true()[0])
            other = its[int((plain == here[place]).arg_true()[0])]
            return f"they agree but for {name} ({mine[place]} and {other})"
    return ""
