"""The ``winkube`` program."""

import sys


def main() -> None:
    if sys.argv[1:2] != ["up"] or {"-h", "--help"} & set(sys.argv):
        _run(None)
        return
    # To load the option parser takes half as long as to load the API server: side by side.
    from winkube.cluster.daemon import prepared_supervisor

    with prepared_supervisor() as start:
        _run(start)


def _run(prepared: object) -> None:
    from winkube.cli.app import app

    app(prog_name="winkube", obj=prepared)
