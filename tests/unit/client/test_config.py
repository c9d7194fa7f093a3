import base64
from pathlib import Path

import pytest
import yaml

from winkube.client.config import in_cluster, load_kubeconfig
from winkube.client.errors import KubeconfigError

DOCUMENT = {
    "current-context": "one",
    "contexts": [
        {"name": "one", "context": {"cluster": "c", "user": "u"}},
        {"name": "two", "context": {"cluster": "c", "user": "absent"}},
    ],
    "clusters": [
        {"name": "c", "cluster": {"server": "https://h:6443/", "certificate-authority": "ca.crt"}}
    ],
    "users": [
        {
            "name": "u",
            "user": {
                "client-certificate-data": base64.b64encode(b"CERT").decode(),
                "client-key": "/abs/key",
                "token": "t",
            },
        }
    ],
}


def written(tmp_path: Path, document: object) -> Path:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    return path


def test_current_context_is_the_default(tmp_path: Path) -> None:
    config = load_kubeconfig(written(tmp_path, DOCUMENT))
    assert config.server == "https://h:6443"
    assert config.ca_file == tmp_path / "ca.crt"
    assert config.cert_data == b"CERT"
    assert config.key_file == Path("/abs/key")
    assert config.token == "t"


def test_secrets_stay_out_of_the_repr(tmp_path: Path) -> None:
    assert "CERT" not in repr(load_kubeconfig(written(tmp_path, DOCUMENT)))


@pytest.mark.parametrize(
    ("document", "context", "problem"),
    [
        (DOCUMENT, "three", "no context named 'three'"),
        (DOCUMENT, "two", "no user named 'absent'"),
        ([], None, "not a kubeconfig document"),
        ({}, None, "no context named ''"),
    ],
    ids=["unknown context", "unknown user", "list", "empty"],
)
def test_unusable_file_is_named(
    tmp_path: Path, document: object, context: str | None, problem: str
) -> None:
    with pytest.raises(KubeconfigError, match=problem):
        load_kubeconfig(written(tmp_path, document), context)


def test_absent_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError):
        load_kubeconfig(tmp_path / "absent")


def test_a_pod_is_its_service_account(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="runs in no pod"):
        in_cluster({}, tmp_path)
    environment = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(KubeconfigError, match="runs in no pod"):
        in_cluster(environment, tmp_path)
    (tmp_path / "token").write_text("secret\n")
    found = in_cluster(environment, tmp_path)
    assert (found.server, found.token) == ("https://10.96.0.1:443", "secret")
    assert found.ca_file == tmp_path / "ca.crt"
    found = in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1"}, tmp_path)
    assert found.server == "https://[fd00::1]:443"
