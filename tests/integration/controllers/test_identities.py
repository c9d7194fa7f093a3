"""Certificates and tokens from end to end: asked for, approved, signed, used, gone."""

import base64
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.integration.controllers.control_plane import control_plane
from tests.integration.controllers.test_control_plane import until

from winkube.api.errors import ApiError, ForbiddenError, InvalidError, UnauthorizedError
from winkube.base.types import JsonObject
from winkube.client.resource import (
    CERTIFICATESIGNINGREQUESTS,
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    SECRETS,
    SERVICEACCOUNTS,
    TOKENREVIEWS,
    Resource,
)
from winkube.client.rest import ApiClient

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
USAGES = ["digital signature", "key encipherment", "client auth"]
SELF = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", False)
RBAC = "rbac.authorization.k8s.io"


def make_request(
    name: str, organizations: Sequence[str] = (), names: Sequence[str] = ()
) -> tuple[ec.EllipticCurvePrivateKey, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if names:
        listed = x509.SubjectAlternativeName([x509.DNSName(each) for each in names])
        builder = builder.add_extension(listed, critical=False)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return key, base64.b64encode(pem).decode()


def signing_request(name: str, request: str, signer: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {"request": request, "signerName": signer, "usages": USAGES, **spec},
    }


async def decide(client: ApiClient, name: str, word: str = "Approved") -> JsonObject:
    found = await client.get(CERTIFICATESIGNINGREQUESTS, name)
    condition = {"type": word, "status": "True", "reason": "Test", "message": "by hand"}
    found["status"] = {"conditions": [condition]}
    return await client.update(CERTIFICATESIGNINGREQUESTS, found, subresource="approval")


async def answer(client: ApiClient, name: str, seconds: float = 10.0) -> JsonObject:
    """The status once it has a certificate or a failure."""
    status: JsonObject = {}

    async def answered() -> bool:
        nonlocal status
        status = (await client.get(CERTIFICATESIGNINGREQUESTS, name)).get("status") or {}
        failed = any(each["type"] == "Failed" for each in status.get("conditions") or ())
        return failed or "certificate" in status

    await until(answered, seconds)
    return status


async def bind(client: ApiClient, role: str, rules: list[JsonObject], user: str) -> None:
    metadata = {"name": role}
    await client.create(
        CLUSTERROLES,
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules},
    )
    await client.create(
        CLUSTERROLEBINDINGS,
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
        },
    )


def with_files(client: ApiClient, folder: Path, key: Any, certificate: bytes) -> ApiClient:
    (folder / "own.crt").write_bytes(certificate)
    (folder / "own.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return ApiClient(
        dataclasses.replace(
            client.config, cert_file=folder / "own.crt", key_file=folder / "own.key"
        )
    )


async def test_approved_certificate_is_signed_and_lets_its_owner_in(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        key, request = make_request("jane", ["developers"])
        await client.create(
            CERTIFICATESIGNINGREQUESTS,
            signing_request("jane", request, CLIENT, expirationSeconds=3600),
        )
        approved = await decide(client, "jane")
        condition = approved["status"]["conditions"][0]
        assert condition["lastUpdateTime"]
        assert condition["lastTransitionTime"]
        pem = base64.b64decode((await answer(client, "jane"))["certificate"])
        certificate = x509.load_pem_x509_certificate(pem)
        life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
        assert life.total_seconds() == 3600 + 300
        purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(purposes) == [ExtendedKeyUsageOID.CLIENT_AUTH]
        async with with_files(client, tmp_path, key, pem) as jane:
            review = await jane.create(SELF, {"kind": "SelfSubjectReview"})
            said = review["status"]["userInfo"]
            assert (said["username"], said["groups"][0]) == ("jane", "developers")


async def test_what_a_signer_does_not_sign_fails_with_its_reason(tmp_path: Path) -> None:
    cases = [
        ("org", make_request("system:node:a")[1], KUBELET, USAGES,
         "subject organization is not system:nodes"),
        ("dns", make_request("system:node:a", ["system:nodes"], ["a"])[1], KUBELET, USAGES,
         "DNS subjectAltNames are not allowed"),
        ("cn", make_request("jane", ["system:nodes"])[1], KUBELET, USAGES,
         "subject common name does not begin with system:node:"),
        ("use", make_request("jane")[1], CLIENT, ["server auth"],
         "invalid usage for client certificate: server auth"),
        ("san", make_request("system:node:a", ["system:nodes"])[1], SERVING,
         ["digital signature", "server auth"], "DNS or IP subjectAltName is required"),
        ("server", make_request("system:node:a", ["system:nodes"], ["a"])[1], SERVING, USAGES,
         "usages did not match [digital signature key encipherment server auth]"),
    ]  # fmt: skip
    async with control_plane(tmp_path) as client:
        for name, request, signer, usages, reason in cases:
            asked = signing_request(name, request, signer, usages=usages)
            await client.create(CERTIFICATESIGNINGREQUESTS, asked)
            await decide(client, name)
            failure = (await answer(client, name))["conditions"][-1]
            assert (failure["reason"], failure["message"]) == ("SignerValidationFailure", reason)


async def test_kubelets_get_their_client_certificate_when_roles_say_so(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        request = make_request("system:node:win-1", ["system:nodes"])[1]
        rule = {
            "apiGroups": ["certificates.k8s.io"],
            "resources": ["certificatesigningrequests/nodeclient"],
            "verbs": ["create"],
        }
        await bind(client, "joins", [rule], "kubernetes-admin")
        await client.create(CERTIFICATESIGNINGREQUESTS, signing_request("win-1", request, KUBELET))
        status = await answer(client, "win-1")
        assert status["conditions"][0]["reason"] == "AutoApproved"


async def test_bad_requests_are_refused_in_upstreams_words(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        masters = make_request("evil", ["system:masters"])[1]
        text = "use of kubernetes.io/kube-apiserver-client signer with system:masters group"
        with pytest.raises(ForbiddenError, match=text):
            await client.create(CERTIFICATESIGNINGREQUESTS, signing_request("m", masters, CLIENT))
        good = make_request("jane")[1]
        wrong = signing_request("w", "bm8=", "example.com/x", usages=["client auth", "fly"])
        with pytest.raises(InvalidError) as caught:
            await client.create(CERTIFICATESIGNINGREQUESTS, wrong)
        assert "PEM block type must be CERTIFICATE REQUEST" in str(caught.value)
        assert 'spec.usages[1]: Unsupported value: "fly"' in str(caught.value)
        for signer in ("nodomain", "plain/x", "kubernetes.io/legacy-unknown"):
            with pytest.raises(InvalidError, match=r"spec\.signerName: Invalid value"):
                await client.create(CERTIFICATESIGNINGREQUESTS, signing_request("s", good, signer))
        await client.create(CERTIFICATESIGNINGREQUESTS, signing_request("n", good, "a.b/c"))
        await decide(client, "n", "Denied")
        with pytest.raises(InvalidError, match='may not remove a condition of type "Denied"'):
            await decide(client, "n")


async def test_token_in_a_secret_lives_as_long_as_secret_and_account(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await client.create(SERVICEACCOUNTS, account, namespace="default")
        named = {"kubernetes.io/service-account.name": "robot"}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/service-account-token",
            "metadata": {"name": "robot-token", "annotations": named},
        }
        await client.create(SECRETS, secret, namespace="default")
        data: JsonObject = {}

        async def filled() -> bool:
            nonlocal data
            found = await client.get(SECRETS, "robot-token", namespace="default")
            data = found.get("data") or {}
            return "token" in data

        await until(filled)
        assert set(data) == {"token", "ca.crt", "namespace"}
        token = base64.b64decode(data["token"]).decode()
        review = await client.create(TOKENREVIEWS, {"spec": {"token": token}})
        assert review["status"]["user"]["username"] == "system:serviceaccount:default:robot"

        async def noted() -> bool:
            found = await client.get(SECRETS, "robot-token", namespace="default")
            return "kubernetes.io/legacy-token-last-used" in (found["metadata"].get("labels") or {})

        await until(noted)
        await client.delete(SERVICEACCOUNTS, "robot", namespace="default")

        async def gone() -> bool:
            return not (await client.list(SECRETS, namespace="default"))["items"]

        await until(gone)
        review = await client.create(TOKENREVIEWS, {"spec": {"token": token}})
        assert not review["status"].get("authenticated")


async def test_token_bound_to_a_pod_ends_with_it(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        spec = {"containers": [{"name": "a", "image": "a"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
        await client.create(PODS, pod, namespace="default")
        asked = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "a"}}}
        made = await client.create(
            SERVICEACCOUNTS, asked, namespace="default", name="default", subresource="token"
        )
        config = dataclasses.replace(
            client.config, cert_file=None, key_file=None, token=made["status"]["token"]
        )
        async with ApiClient(config) as own:
            await own.create(SELF, {"kind": "SelfSubjectReview"})
            await client.delete(PODS, "a", namespace="default", options={"gracePeriodSeconds": 0})
            with pytest.raises(UnauthorizedError):
                await own.create(SELF, {"kind": "SelfSubjectReview"})


async def test_roles_gather_the_rules_of_those_they_select(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
        whole = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "whole"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]},
        }
        part = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "part", "labels": {"part": "yes"}},
            "rules": [rule],
        }
        for role in (whole, part):
            await client.create(CLUSTERROLES, role)

        async def gathered() -> bool:
            return (await client.get(CLUSTERROLES, "whole")).get("rules") == [rule]

        await until(gathered)


async def test_ephemeral_volume_gets_a_claim_owned_by_its_pod(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Mi"}},
        }
        template = {"metadata": {"labels": {"a": "b"}}, "spec": claim}
        spec = {
            "containers": [{"name": "a", "image": "a"}],
            "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        made = await client.create(PODS, pod, namespace="default")
        found: JsonObject = {}

        async def claimed() -> bool:
            nonlocal found
            try:
                found = await client.get(PERSISTENTVOLUMECLAIMS, "p-v", namespace="default")
            except ApiError:
                return False
            return True

        await until(claimed)
        assert found["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
        assert found["metadata"]["labels"] == {"a": "b"}
