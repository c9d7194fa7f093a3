"""``winkube down``: remove a cluster and everything it made."""

from typing import Annotated

import typer

from winkube.cli.options import Name, home, kubeconfig_path


def down(
    name: Name = "winkube",
    every: Annotated[bool, typer.Option("--all", help="All clusters of this machine.")] = False,
) -> None:
    """Stop a cluster and remove everything it made."""
    from winkube.cluster import kubeconfig, teardown
    from winkube.cluster.spec import ClusterSpec
    from winkube.cluster.state import list_clusters

    names = list_clusters(home()) if every else [name]
    for each in names:
        if not teardown.exists(home(), each):
            print(f"there is no cluster {each!r}")
            continue
        teardown.down(home(), each)
        kubeconfig.remove_from(kubeconfig_path(), ClusterSpec(name=each).context)
        print(f"cluster {each!r} is gone")
