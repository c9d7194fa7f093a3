"""Read a table of data/, once."""

from functools import cache
from pathlib import Path
from typing import Any, Final

from winkube.facts.errors import DataError

DATA: Final = Path(__file__).parent / "data"


@cache
def load_table(name: str) -> Any:
    # A node that asks nothing must not pay for the parser.
    import yaml

    path = DATA / f"{name}.yaml"
    try:
        return yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        raise DataError(path.name, name, str(error)) from error
