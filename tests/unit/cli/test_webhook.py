import base64
import ssl
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from typer.testing import CliRunner

from winkube.cli.app import app

runner = CliRunner()


def run(*words: str) -> str:
    result = runner.invoke(app, ["webhook", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["manifests"],
        ["manifests", "--image=a", "--url=https://h", "--certificates=x"],
        ["manifests", "--url=https://h"],
        ["manifests", "--url=http://h", "--certificates=x"],
        ["manifests", "--url=https://", "--certificates=x"],
        ["manifests", "--image=a", "--failure-policy=ignore"],
        ["manifests", "--image=a", "--timeout=31"],
        ["serve", "--cert=absent", "--key=absent"],
        ["serve", "--cert=c", "--key=k", "--listen=nowhere"],
        ["serve", "--cert=c", "--key=k", "--listen=a:99999"],
        ["serve", "--cert=c", "--key=k", "--in-cluster", "--windows=ws2019"],
        ["serve"],
    ],
)
def test_settings_that_do_not_fit_are_named(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["webhook", *words])
    assert result.exit_code != 0
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert list(tmp_path.iterdir()) == []


def test_the_authority_is_in_the_configurations_and_signed_the_server(tmp_path: Path) -> None:
    out = run("manifests", "--image=registry.example/winkube:1", "--namespace=hooks")
    objects = list(yaml.safe_load_all(out))
    ca = base64.b64decode(objects[-1]["webhooks"][0]["clientConfig"]["caBundle"])
    assert objects[-2]["webhooks"][0]["clientConfig"]["service"]["namespace"] == "hooks"
    secret = next(each for each in objects if each["kind"] == "Secret")
    shown = x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    shown.verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
    names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "winkube-webhook.hooks.svc" in names.get_values_for_type(x509.DNSName)
    pair = tmp_path / "tls.crt", tmp_path / "tls.key"
    for path, key in zip(pair, ("tls.crt", "tls.key"), strict=True):
        path.write_bytes(base64.b64decode(secret["data"][key]))
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*pair)


def test_kept_certificates_stay_until_the_host_changes(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    options = ("manifests", f"--certificates={folder}")
    first = run(*options, "--url=https://127.0.0.1:1")
    cert = (folder / "tls.crt").read_bytes()
    assert (folder / "tls.key").stat().st_mode & 0o077 == 0
    assert run(*options, "--url=https://127.0.0.1:1") == first
    run(*options, "--url=https://hooks.example")
    assert (folder / "tls.crt").read_bytes() != cert


def test_nothing_in_the_manifests_refers_to_another_line() -> None:
    events = list(yaml.parse(run("manifests", "--image=a")))
    assert not [event for event in events if isinstance(event, yaml.AliasEvent)]
