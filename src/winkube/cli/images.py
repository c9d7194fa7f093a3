"""``winkube images``: what the nodes of a cluster have."""

from winkube.cli.options import Name, home


def images(name: Name = "winkube") -> None:
    """List the images on every node."""
    import asyncio

    from winkube.cluster import loading
    from winkube.cluster.state import load_state

    rows = asyncio.run(loading.list_images(load_state(home(), name)))
    print(f"{'NODE':<10} {'IMAGE':<70} {'SIZE':>10}")
    for row in rows:
        print(f"{row.node:<10} {row.image:<70} {row.size / 1e6:>7.1f} MB")
