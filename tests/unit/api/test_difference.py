from winkube.api.difference import difference
from winkube.api.internal import internal


def test_a_change_is_shown_by_the_lines_that_changed() -> None:
    old = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    new = {**old, "resources": {"requests": {"storage": "<2>"}}}
    shown = difference("PersistentVolumeClaimSpec", old, new)
    assert shown.startswith("@@ -6,7 +6,7 @@\n")
    assert '-   "storage": "1Gi"\n+   "storage": "\\u003c2\\u003e"\n' in shown


def test_what_concerns_the_host_is_part_of_the_security_context() -> None:
    shown = internal("PodSpec", {"containers": [{"name": "c"}], "hostNetwork": True})
    assert shown["SecurityContext"]["HostNetwork"] is True
    assert shown["Containers"][0]["Name"] == "c"
    assert shown["Containers"][0]["Ports"] is None
    assert "HostNetwork" not in shown
