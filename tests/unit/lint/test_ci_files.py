import re
from pathlib import Path

import typer
import yaml

from winkube.cli.app import app

ROOT = Path(__file__).parents[3]


def options() -> set[str]:
    command = typer.main.get_command(app).commands["lint"]  # type: ignore[attr-defined]
    return {option for parameter in command.params for option in parameter.opts}


def test_the_hooks_call_the_program_with_options_it_has() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        program, command, *rest = hook["entry"].split()
        assert (program, command) == ("winkube", "lint")
        assert set(rest) <= options()


def test_the_action_calls_the_program_with_options_it_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    script = action["runs"]["steps"][-1]
    used = set(re.findall(r"--[a-z-]+", script["run"]))
    assert used
    assert used <= options()
    # Inputs are text from outside: they may reach the script as variables only.
    assert "${{" not in script["run"]
    assert {
        f"${{{{ inputs.{name} }}}}" for name in action["inputs"] if name != "python-version"
    } == (set(script["env"].values()))
