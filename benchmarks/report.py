"""Tables and the chart, made from the figures of a run of the benchmarks."""

import re
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES

Figures = dict[str, Any]


def case_table(figures: Figures) -> str:
    """One line per case: reading, evaluating, and the ratio of the two."""
    head = (
        "| case | rows | what it is | only reading, s | evaluating, s | ratio | added CPU, ns a row | peak, GB |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    lines = [
        f"| {name} | {case['rows']:,} | {CASES[name].note} | {case['floor_s']:.2f} | {case['wall_s']:.2f} "
        f"| {case['ratio']:.2f} | {case['added_cpu_ns_a_row']:.0f} | {case['peak_gb']:.2f} |"
        for name, case in figures["cases"].items()
    ]
    return "\n".join([head, *lines])


def tool_table(figures: Figures) -> str:
    """One line per tool and size."""
    head = (
        "| rows | tool | whole process, s | warm, s | peak, GB | rankmeter is faster, whole | warm |\n"
        "|---|---|---|---|---|---|---|"
    )
    lines = []
    for case, tools in figures["tools"].items():
        ours = tools["rankmeter"]
        for tool, got in sorted(tools.items(), key=lambda item: item[1]["first_s"]):
            warm = f"{got['warm_s']:.2f}" if got["warm_s"] else "-"
            times = f"{got['first_s'] / ours['first_s']:.1f} x" if tool != "rankmeter" else ""
            warm_times = f"{got['warm_s'] / ours['warm_s']:.1f} x" if tool != "rankmeter" and got["warm_s"] else ""
            size, seconds, peak = f"{CASES[case].rows:,}", f"{got['first_s']:.2f}", f"{got['peak_gb']:.2f}"
            lines.append(f"| {' | '.join([size, tool, seconds, warm, peak, times, warm_times])} |")
    return "\n".join([head, *lines])


def start_table(figures: Figures) -> str:
    """One line per kind of start."""
    lines = [f"| {name} | {seconds:.2f} |" for name, seconds in figures["starts"].items()]
    return "\n".join(["| what | s |", "|---|---|", *lines])


def machine_line(figures: Figures) -> str:
    """What the figures depend on."""
    return ", ".join(f"{name} {value}" for name, value in figures["machine"].items())


PARTS = {"cases": case_table, "tools": tool_table, "starts": start_table, "machine": machine_line}
"""What stands between markers of that name, if the figures have it."""


def fill(text: str, figures: Figures) -> str:
    """A page with the parts between its markers made anew."""
    for name, make in PARTS.items():
        if figures.get(name):
            made = make(figures).replace("\\", "\\\\")
            text = re.sub(f"(<!-- {name} -->).*?(<!-- /{name} -->)", rf"\1\n{made}\n\2", text, flags=re.DOTALL)
    return text


def chart(figures: Figures, path: Path) -> None:
    """Time and memory against rows, one line per tool, both axes logarithmic; as SVG."""
    import altair
    import polars as pl

    rows = [
        {"tool": tool, "rows": CASES[case].rows, "kind": kind, "value": got[key]}
        for case, tools in figures["tools"].items()
        for tool, got in tools.items()
        for kind, key in (("whole process, seconds", "first_s"), ("peak memory, GB", "peak_gb"))
    ]
    order = list(dict.fromkeys(row["tool"] for row in rows))
    base = altair.Chart(pl.DataFrame(rows)).encode(
        x=altair.X("rows:Q", title="rows of the run").scale(type="log"),
        y=altair.Y("value:Q", title=None).scale(type="log"),
        color=altair.Color("tool:N", sort=order, title=None),
    )
    lines = (base.mark_line() + base.mark_point(filled=True)).properties(width=320, height=260)
    facets = lines.facet(altair.Column("kind:N", title=None, sort="descending")).resolve_scale(y="independent")
    facets.save(path)
