"""Ask upstream all cases and keep its answers: ``python -m tests.upstream.record [set …]``."""

import sys
import tempfile
from pathlib import Path

from tests.upstream.exchange import conversation, run_case
from tests.upstream.recorded import case_sets, flags_of, write_answers

from winkube.testing.planes import api_server


def main() -> None:
    sets = case_sets()
    wanted = set(sys.argv[1:]) or set(sets)
    # Sets that want the same flags are asked of one server, as the tests do.
    for flags in sorted({flags_of(name) for name in wanted}):
        with (
            tempfile.TemporaryDirectory() as folder,
            api_server("upstream", Path(folder), flags) as plane,
            conversation(plane.client) as talk,
        ):
            for name in (name for name in sets if name in wanted and flags_of(name) == flags):
                answers = {
                    case.name: run_case(talk, case, f"{name.replace('_', '-')}-{number}")
                    for number, case in enumerate(sets[name])
                }
                write_answers(name, answers)
                print(f"{name}: {len(answers)} cases")


if __name__ == "__main__":
    main()
