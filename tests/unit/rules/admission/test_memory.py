from typing import Any

from winkube.rules.admission.memory import key_of


def pod(token: str, path: str = "/x") -> dict[str, Any]:
    mount = {"name": token, "mountPath": path}
    return {
        "metadata": {"name": token},
        "spec": {
            "volumes": [{"name": token, "projected": {"sources": []}}],
            "containers": [{"name": "c", "image": "i", "volumeMounts": [mount]}],
        },
    }


def test_the_name_of_a_token_volume_does_not_count() -> None:
    assert key_of(pod("kube-api-access-a"), {}) == key_of(pod("kube-api-access-b"), {})


def test_the_name_of_another_volume_counts() -> None:
    assert key_of(pod("data-a"), {}) != key_of(pod("data-b"), {})


def test_the_same_word_elsewhere_counts() -> None:
    one, other = "kube-api-access-a", "kube-api-access-b"
    assert key_of(pod(one, f"/{one}"), {}) != key_of(pod(other, f"/{other}"), {})


def test_odd_volumes_have_keys_too() -> None:
    for volumes in (None, "x", [1], [{"name": 1}], [{"name": 'kube-api-access-"'}]):
        assert key_of({"metadata": {}, "spec": {"volumes": volumes}}, {})
