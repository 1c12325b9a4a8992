"""The catalogues of measures and of rules on input as text, all of it taken from the registries.

`python -m rankmeter.cli.catalogue FOLDER` writes them into `README.md`, `docs/measures.md` and
`docs/checks.md` below the folder.
"""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankmeter.cli.sheets import Sheet, markdown
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter.catalogue.registry import Measure, Parameter

OVER_QUERIES = {"mean": "mean", "sum": "summed", "geometric": "geometric mean, of which no value is below 0.00001"}
BEGIN, END = "<!-- measures: generated, see docs/guide.md -->", "<!-- measures: end -->"


def find(name: str) -> "Measure":
    """The measure of that name, alias, trec_eval name or full text (`nDCG@10`).

    Raises:
        UsageError: there is none.
    """
    from rankmeter.catalogue import MEASURES
    from rankmeter.catalogue.registry import names_of
    from rankmeter.notation import parse_measure

    named = [measure for measure in MEASURES.values() if name.casefold() in names_of(measure)]
    return named[0] if named else parse_measure(name).measure


def spellings(measure: "Measure") -> list[str]:
    """How the measure is written: without and with what stands behind `@`, as far as it has these forms.

    >>> spellings(find("nDCG")), spellings(find("IPrec"))
    (['nDCG', 'nDCG@k'], ['IPrec@recall'])
    """
    at = _behind_at(measure)
    bare = [] if at and at.required else [measure.name]
    return [*bare, *([f"{measure.name}@{at.name}"] if at else [])]


def trec_names(measure: "Measure") -> list[str]:
    """What trec_eval calls the measure, without and with a cut-off.

    >>> trec_names(find("AP"))
    ['map', 'map_cut_k']
    """
    at = _behind_at(measure)
    cut = [f"{measure.trec_cut}_{at.name}"] if measure.trec_cut and at else []
    return [*([measure.trec] if measure.trec else []), *cut]


def _behind_at(measure: "Measure") -> "Parameter | None":
    """The parameter that stands behind `@`."""
    return next((parameter for parameter in measure.parameters if parameter.behind_at), None)


def overview() -> Sheet:
    """All measures, one a row."""
    from rankmeter.catalogue import MEASURES

    rows = tuple(
        (", ".join(spellings(measure)), ", ".join(measure.aliases), ", ".join(trec_names(measure)), measure.title)
        for measure in MEASURES.values()
    )
    return Sheet("", ("measure", "aliases", "trec_eval", "what it is"), rows, texts=4, fixed=3)


def families() -> Sheet:
    """The measures by what they look at, one family a row."""
    from rankmeter.catalogue import MEASURES

    members: dict[str, list[str]] = {}
    for measure in MEASURES.values():
        module = sys.modules[measure.kernel.__module__]
        members.setdefault((module.__doc__ or "").splitlines()[0].rstrip("."), []).append(measure.name)
    rows = tuple((", ".join(f"`{name}`" for name in names), family) for family, names in members.items())
    return Sheet("", ("measures", "what they look at"), rows, texts=2, fixed=2)


def suites() -> list[str]:
    """The suites, one a line: name, then the measures it stands for."""
    from rankmeter.catalogue import SUITES

    return [
        f"{name}{'@k' if '{k}' in parts[0] else ''}: {', '.join(part.replace('{k}', 'k') for part in parts)}"
        for name, parts in SUITES.items()
    ]


def elsewhere() -> Sheet:
    """What other tools call the measures, and what they do otherwise."""
    from rankmeter.catalogue import MEASURES

    rows = tuple(
        (
            ", ".join(spellings(measure)),
            ", ".join(measure.aliases),
            ", ".join(trec_names(measure)),
            measure.elsewhere,
            measure.differs,
        )
        for measure in MEASURES.values()
    )
    return Sheet("", ("measure", "aliases", "trec_eval", "others", "differences"), rows, texts=5, fixed=1)


def jobs() -> list[str]:
    """The jobs, one a line of Markdown each: name, who reads, and the measures."""
    from rankmeter.catalogue.jobs import JOBS

    return [
        f"- **{name}**, {job.title}; {job.reader}. "
        + "; ".join(f"`{advice.measure}`: {advice.asks}" for advice in job.advice)
        for name, job in JOBS.items()
    ]


def as_dict(measure: "Measure") -> dict[str, Any]:
    """Everything about one measure, for JSON."""
    return {
        "name": measure.name,
        "spellings": spellings(measure),
        "aliases": list(measure.aliases),
        "trec_eval": trec_names(measure),
        "title": measure.title,
        "formula": measure.formula,
        "parameters": [_parameter_dict(parameter) for parameter in measure.parameters],
        "range": [bound if math.isfinite(bound) else None for bound in measure.bounds],
        "summary": measure.aggregate,
        "nothing_relevant": measure.empty,
        "missing_query": measure.missing,
        "source": measure.source,
        "elsewhere": [part for part in measure.elsewhere.split("; ") if part],
        "differs": measure.differs,
        "example": f"rankmeter evaluate QRELS RUN -m '{example(measure)}'",
    }


def _parameter_dict(parameter: "Parameter") -> dict[str, Any]:
    return {
        "name": parameter.name,
        "kind": parameter.kind,
        "default": parameter.default,
        "values": parameter.values(),
        "choices": list(parameter.choices),
        "help": parameter.help,
    }


def explanation(measure: "Measure") -> list[tuple[str, str]]:
    """One measure explained, as pairs of a heading and a text."""
    pairs = [("Written", ", ".join(spellings(measure)))]
    if measure.without_k:
        pairs.append(("Without k", f"{measure.name} alone means {measure.without_k}"))
    if measure.aliases:
        pairs.append(("Aliases", f"{', '.join(measure.aliases)} (in any case)"))
    pairs.append(("trec_eval", ", ".join(trec_names(measure)) or "has no such measure"))
    if measure.elsewhere:
        pairs.append(("Other tools", measure.elsewhere))
    if measure.differs:
        pairs.append(("Differences", measure.differs))
    pairs.append(("Formula", measure.formula))
    pairs.extend((f"Parameter {parameter.name}", _parameter_text(parameter)) for parameter in measure.parameters)
    low, high = measure.bounds
    whole = f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} and more"
    pairs.append(("Range", whole if math.isfinite(low) else "any number"))
    pairs.append(("Over queries", OVER_QUERIES[measure.aggregate]))
    pairs.append(("Nothing relevant", measure.empty))
    pairs.append(("Missing query", measure.missing))
    pairs.append(("Source", measure.source))
    pairs.append(("Example", f"rankmeter evaluate QRELS RUN -m '{example(measure)}'"))
    return pairs


def example(measure: "Measure") -> str:
    """A measure as one would ask for it, with what it needs, or with a parameter where it has one to show.

    >>> example(find("nDCG")), example(find("INST"))
    ('nDCG(gain=exp)@10', 'INST(max_rel=4)')
    """
    inside = [parameter for parameter in measure.parameters if not parameter.behind_at]
    order = ("choice", "number", "numbers", "level", "floor", "flag", "gains")
    telling = sorted(inside, key=lambda parameter: order.index(parameter.kind))
    shown = [parameter for parameter in inside if parameter.required] or telling[:1]
    brackets = f"({','.join(f'{parameter.name}={parameter.example}' for parameter in shown)})" if shown else ""
    at = _behind_at(measure)
    return f"{measure.name}{brackets}{f'@{at.example}' if at else ''}"


def _parameter_text(parameter: "Parameter") -> str:
    """What a parameter does, what it can be, and its default, where the help does not say what happens without it."""
    default = "" if parameter.default is None else f"; default {_default_text(parameter.default)}"
    return f"{parameter.help}; {parameter.values()}{default}"


def _default_text(default: Any) -> str:  # the value of any kind of parameter
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return f"'{','.join(map(_default_text, default))}'" if default else "none"
    return f"{default:g}" if isinstance(default, float) else str(default)


def explanation_markdown(measure: "Measure", heading: str = "##") -> str:
    """One measure explained, as a section of Markdown."""
    lines = [f"{heading} {measure.name}", "", f"{measure.title[0].upper()}{measure.title[1:]}.", ""]
    lines += [f"- **{name}**: {text}" for name, text in explanation(measure)]
    return "\n".join(lines)


def page() -> str:
    """The content of `docs/measures.md`."""
    from rankmeter.catalogue import MEASURES
    from rankmeter.catalogue.jobs import UNSEEN

    head = [
        "# Measures",
        "",
        "Generated from the registry by `python -m rankmeter.cli.catalogue .`; a test fails when it is stale.",
        "`rankmeter measures NAME` prints the same.",
        "",
        markdown(overview()),
        "",
        "Suites stand for several measures:",
        "",
        *(f"- {line}" for line in suites()),
        "",
        "## Which measure for which job",
        "",
        *jobs(),
        "",
        UNSEEN,
        "",
        "`rankmeter measures --for JOB` prints the same.",
        "",
        "## Names and differences elsewhere",
        "",
        markdown(elsewhere()),
        "",
    ]
    return "\n".join([*head, "\n\n".join(explanation_markdown(measure) for measure in MEASURES.values()), ""])


def with_table(readme: str) -> str:
    """The text of the README with its table of measures made anew.

    Raises:
        UsageError: it has no place for the table.
    """
    if BEGIN not in readme or END not in readme:
        raise UsageError(f"the README lacks the lines {BEGIN} and {END}")
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{markdown(families())}\n{END}{rest.partition(END)[2]}"


def checks_page() -> str:
    """The content of `docs/checks.md`."""
    from rankmeter.checks.catalogue import CHECKS, ERROR, WARNING

    parts = [
        "# Checks",
        "",
        "Every rule on input. Generated by `python -m rankmeter.cli.catalogue .`; a test fails when it is stale.",
    ]
    for severity, title, text in (
        (ERROR, "Refused", "Exit code 3, no result; `rankmeter check` finds them too, and all rows that break one."),
        (WARNING, "Suspicious", "A warning beside the result; `--strict` makes an error of it."),
    ):
        rows = tuple(
            (f"`{check.code}`", check.meaning, check.policy) for check in CHECKS.values() if check.severity == severity
        )
        parts += ["", f"## {title}", "", text, "", markdown(Sheet("", ("code", "what is found", "or"), rows, texts=3))]
    return "\n".join([*parts, ""])


def refresh(folder: Path) -> None:
    """Write the catalogue into the documentation below a source folder."""
    from rankmeter.sinks import write_text

    readme = folder / "README.md"
    write_text(readme, with_table(readme.read_text(encoding="utf-8")))
    write_text(folder / "docs" / "measures.md", page())
    write_text(folder / "docs" / "checks.md", checks_page())


if __name__ == "__main__":
    refresh(Path(sys.argv[1]))
