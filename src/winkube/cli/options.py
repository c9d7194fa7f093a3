"""Options that several commands share, and where a user's files are."""

import os
from pathlib import Path
from typing import Annotated

import typer

from winkube.base.paths import Home

Name = Annotated[str, typer.Option("--name", "-n", help="Which cluster.")]


def home() -> Home:
    return Home.load()


def kubeconfig_path() -> Path:
    """The file kubectl writes to: the first of KUBECONFIG, else ~/.kube/config."""
    listed = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(listed) if listed else Path.home() / ".kube" / "config"
