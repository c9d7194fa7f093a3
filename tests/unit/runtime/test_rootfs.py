from winkube.runtime.rootfs import to_resolv_conf


def test_windows_uses_one_suffix_and_only_for_names_without_a_dot() -> None:
    text = to_resolv_conf(["10.96.0.10"], ["default.svc.cluster.local", "svc.cluster.local"])
    assert text.splitlines()[:2] == ["nameserver 10.96.0.10", "search default.svc.cluster.local"]
    assert "ndots:1" in text
    assert "search svc.cluster.local" not in text
