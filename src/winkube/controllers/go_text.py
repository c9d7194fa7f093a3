"""Values as upstream's Go programs print them inside messages."""

from winkube.base.types import JsonObject


def selector_in_go(selector: JsonObject | None) -> str:
    """A label selector as its own String method writes it."""
    if selector is None:
        return "nil"
    labels = selector.get("matchLabels") or {}
    written = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    listed = "".join(
        f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    expressions = f"[]LabelSelectorRequirement{{{listed}}}"
    labelled = f"map[string]string{{{written}}}"
    return f"&LabelSelector{{MatchLabels:{labelled},MatchExpressions:{expressions},}}"
