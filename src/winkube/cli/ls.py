"""``winkube ls``: the clusters of this machine."""

from winkube.cli.options import home


def ls() -> None:
    """List the clusters of this machine."""
    from winkube.cluster import report

    rows = report.list_rows(home())
    if not rows:
        print("no clusters; start one with 'winkube up'")
        return
    print(f"{'NAME':<20} {'STATE':<10} {'LINUX':>5} {'WINDOWS':>7}  API SERVER")
    for row in rows:
        server = f"https://127.0.0.1:{row.api_port}"
        print(f"{row.name:<20} {row.state:<10} {row.linux:>5} {row.windows:>7}  {server}")
