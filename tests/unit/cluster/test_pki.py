"""Certificates: verifiable, named right, private."""

import ssl
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from winkube.base.clock import SystemClock
from winkube.base.paths import Home
from winkube.cluster import pki
from winkube.cluster.spec import ClusterSpec, plan_nodes
from winkube.cluster.state import ClusterState


def make_state(tmp_path: Path) -> ClusterState:
    spec = ClusterSpec(nodes=plan_nodes(1, 1))
    return ClusterState(spec, "172.30.9.0/24", 6443, Home(tmp_path / "state", tmp_path / "run"))


def test_every_identity_is_signed_named_and_private(tmp_path: Path) -> None:
    state = make_state(tmp_path)
    pki.ensure_pki(state, SystemClock(), b"k" * 32)
    authority = x509.load_pem_x509_certificate(pki.ca_file(state).read_bytes())
    for identity in pki.plan_identities(state):
        files = pki.pair(state, identity.file)
        certificate = x509.load_pem_x509_certificate(files.cert.read_bytes())
        certificate.verify_directly_issued_by(authority)
        subject = certificate.subject
        assert subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == identity.common_name
        groups = [a.value for a in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        assert groups == list(identity.groups)
        assert files.key.stat().st_mode & 0o777 == 0o600
        ssl.create_default_context().load_cert_chain(files.cert, files.key)


def test_only_the_administrator_is_one(tmp_path: Path) -> None:
    identities = pki.plan_identities(make_state(tmp_path))
    assert [i.file for i in identities if "system:masters" in i.groups] == ["admin"]


def test_a_second_call_changes_nothing(tmp_path: Path) -> None:
    state = make_state(tmp_path)
    pki.ensure_pki(state, SystemClock(), b"k" * 32)
    before = {path: path.read_bytes() for path in state.paths.pki.iterdir()}
    pki.ensure_pki(state, SystemClock(), b"x" * 32)
    assert {path: path.read_bytes() for path in state.paths.pki.iterdir()} == before


def test_addresses_are_handed_out_by_position(tmp_path: Path) -> None:
    state = make_state(tmp_path)
    assert state.control_plane_ip == "172.30.9.2"
    assert [state.node_ip(n.name) for n in state.spec.nodes] == ["172.30.9.11", "172.30.9.12"]
