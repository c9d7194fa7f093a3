"""``winkube explain``: one rule of the knowledge base, or the list of all."""

from typing import Annotated

import typer


def explain(
    rule: Annotated[str, typer.Argument(help="The rule, as WIN-POD-001; empty lists all.")] = "",
    language: Annotated[str, typer.Option("--language", help="en or zh.")] = "en",
) -> None:
    """Say what a rule means, where it holds, what to do, and how we know."""
    from winkube.rules.explain import to_lines
    from winkube.rules.load import find_rule, load_rules

    if rule:
        for line in to_lines(find_rule(rule), chinese=language == "zh"):
            print(line)
        return
    for each in load_rules():
        title = (each.chinese if language == "zh" else each.english).title
        print(f"{each.id:<14} {each.severity.value:<8} {title}")
