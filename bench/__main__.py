"""Run every benchmark, or those named: ``python -m bench [api cluster ...]``."""

import importlib
import pkgutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    known = sorted(m.name for m in pkgutil.iter_modules([str(HERE)]) if not m.name.startswith("_"))
    wanted = sys.argv[1:] or known
    for name in wanted:
        if name not in known:
            sys.exit(f"no benchmark {name!r}; there are {', '.join(known)}")
        print(f"\n== {name}")
        importlib.import_module(f"bench.{name}").main()


main()
