"""How large an object may be: what etcd takes, its client sends, and the server reads."""

from tests.upstream.exchange import Case, Step

REVISIONS = "/apis/apps/v1/namespaces/{ns}/controllerrevisions"
SIZES = (1_500_000, 1_580_000, 2_200_000, 3_145_728)


def revision(name: str, size: int) -> Step:
    return Step(
        "POST", REVISIONS, {"metadata": {"name": name}, "revision": 1, "data": {"x": "y" * size}}
    )


CASES = [Case("creations", [revision(f"a{number}", size) for number, size in enumerate(SIZES)])]
