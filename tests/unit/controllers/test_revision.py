"""What a revision keeps of a pod template."""

import json
from typing import Any

from winkube.controllers.revision import to_template_patch


def test_the_patch_reads_as_go_writes_it() -> None:
    """Upstream's clients compare the text (kubernetes: pkg/controller/daemon/update.go)."""
    template: dict[str, Any] = {
        "metadata": {"labels": {"b": "2", "a": "1"}},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "app", "image": "i"}]},
    }
    assert json.dumps(to_template_patch(template), separators=(",", ":")) == (
        '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"1","b":"2"}},"spec":'
        '{"containers":[{"image":"i","name":"app","resources":{}}],"restartPolicy":"Always"}}}}'
    )
    assert "$patch" not in template
    assert "resources" not in template["spec"]["containers"][0]
