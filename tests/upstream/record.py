"""Ask upstream all cases and keep its answers: ``python -m tests.upstream.record [set …]``."""

import sys
import tempfile
from pathlib import Path

from tests.upstream.exchange import conversation, run_case
from tests.upstream.recorded import case_sets, write_answers

from winkube.testing.planes import api_server


def main() -> None:
    wanted = set(sys.argv[1:])
    with (
        tempfile.TemporaryDirectory() as folder,
        api_server("upstream", Path(folder)) as plane,
        conversation(plane.client) as talk,
    ):
        for name, cases in case_sets().items():
            if wanted and name not in wanted:
                continue
            answers = {
                case.name: run_case(talk, case, f"{name.replace('_', '-')}-{number}")
                for number, case in enumerate(cases)
            }
            write_answers(name, answers)
            print(f"{name}: {len(answers)} cases")


if __name__ == "__main__":
    main()
