"""``python -m winkube``."""

from winkube.cli.main import main

main()
