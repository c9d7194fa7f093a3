"""Certificate requests, tokens and their reviews."""

from typing import Any

from tests.upstream.exchange import MERGE, Answers, Case, Json, Step

# Base64 of PEM: jane of the developers, and somebody who would be an administrator.
JANE = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZk1JR0dBZ0VBTUNReEV6QVJCZ05WQkFvTUNt"
    "UmxkbVZzYjNCbGNuTXhEVEFMQmdOVkJBTU1CR3BoYm1VdwpXVEFUQmdjcWhrak9QUUlCQmdncWhrak9QUU1CQndO"
    "Q0FBVFRnUGdSOVBKaUI3ZUVNNHQwRHRheVJZTVlGQjVaCnZTOElVSTkvM2UzcytuWXRSa044MG9PT0ZaWHFoOEFu"
    "T3JLdU85MVBZRGdxeEpEQzNkUVc4aS8rb0FBd0NnWUkKS29aSXpqMEVBd0lEU0FBd1JRSWdEU010VC90d3YvZ2U1"
    "LytNeE0vcHdsdUQ2R3d6OHRiTzVlTStYTVpyc21ZQwpJUURIV3NUbzFHU3hHbHJtOHo1Qy9zTkZXckNWWmxwV09y"
    "MDdPckd0ellVUnR3PT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
)
MASTER = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIa01JR0tBZ0VBTUNneEZ6QVZCZ05WQkFvTURu"
    "TjVjM1JsYlRwdFlYTjBaWEp6TVEwd0N3WURWUVFEREFSbApkbWxzTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemow"
    "REFRY0RRZ0FFc05kby9zOVRCeEJQQ0hMMTdhTjFFYTBYCk9FdnlEVk1PTmZaaGVpeUlRZHVtM0J2eExLdmNuOUJB"
    "bDQ1c0ZxOUdKc1R3ZzFwUm9YdThZbzV0ZnYreVVLQUEKTUFvR0NDcUdTTTQ5QkFNQ0Ewa0FNRVlDSVFEWVlnKzF0"
    "L29oYXplRjdKWFdjbkNNZythK3hFbURqalBWK29qagpkY2Z3RUFJaEFOYnJCbnV5eFlYZ2pHM3ova1BVTXVrNGV4"
    "aHRLdFU5bU5Dbjd5VWFWN0d1Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
)
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"
ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
SECRETS = "/api/v1/namespaces/{ns}/secrets"
AUTH = "/apis/authorization.k8s.io/v1"
LOCAL = f"{AUTH}/namespaces/{{ns}}/localsubjectaccessreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


def request(name: str, **spec: Any) -> Json:
    asked = {"request": JANE, "signerName": CLIENT, "usages": ["client auth"], **spec}
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": asked,
    }


def condition(type_: str, **more: Any) -> Json:
    return {"type": type_, "status": "True", "reason": "Test", "message": "m", **more}


def with_conditions(*conditions: Json, **status: Any) -> Any:
    """The last answer's object, with these conditions."""

    def body(answers: Answers) -> Json:
        return {**answers[-1].body, "status": {"conditions": list(conditions), **status}}

    return body


def decided(name: str, *steps: Step) -> list[Step]:
    return [Step("POST", CSRS, request(name)), *steps, Step("DELETE", f"{CSRS}/{name}")]


def account(*steps: Step) -> list[Step]:
    return [Step("POST", ACCOUNTS, {"metadata": {"name": "robot"}}), *steps]


def token(spec: Json, **more: Any) -> Step:
    return Step("POST", f"{ACCOUNTS}/robot/token", {"spec": spec, **more})


def review(text: str, **spec: Any) -> Step:
    return Step("POST", REVIEWS, {"spec": {"token": text, **spec}})


def reviewed(*audiences: str) -> Any:
    """Of the token in the last answer."""

    def body(answers: Answers) -> Json:
        spec = {"token": answers[-1].body["status"]["token"]}
        return {"spec": {**spec, "audiences": list(audiences)} if audiences else spec}

    return body


def may(user: str = "", **attributes: str) -> Json:
    spec: Json = {"resourceAttributes": attributes}
    return {"spec": {**spec, "user": user} if user else spec}


BAD: dict[str, Json] = {
    "nothing": {"request": "", "usages": [], "signerName": ""},
    "no pem": {"request": "bm8="},
    "unknown usage": {"usages": ["client auth", "fly"]},
    "a usage twice": {"usages": ["client auth", "client auth"]},
    "legacy signer": {"signerName": "kubernetes.io/legacy-unknown"},
    "signer without domain": {"signerName": "signer"},
    "signer of one label": {"signerName": "example/signer"},
    "signer with capitals": {"signerName": "Example.com/Signer"},
    "short life": {"expirationSeconds": 599},
    "administrators": {"request": MASTER},
}

CASES = [
    *(
        Case(f"certificate request: {name}", [Step("POST", CSRS, request("bad", **spec))])
        for name, spec in BAD.items()
    ),
    Case(
        "a certificate request as it is made",
        decided(
            "plain",
            Step("PATCH", f"{CSRS}/plain", {"spec": {"usages": ["any"]}}, MERGE),
            Step("PATCH", f"{CSRS}/plain", {"metadata": {"labels": {"a": "b"}}}, MERGE),
            Step("GET", f"{CSRS}/plain"),
        ),
        managed=False,
    ),
    Case(
        "approved",
        decided(
            "yes",
            Step("PUT", f"{CSRS}/yes/approval", with_conditions(condition("Approved"))),
            Step("PUT", f"{CSRS}/yes/approval", with_conditions()),
            Step("GET", f"{CSRS}/yes/approval"),
            Step(
                "PUT",
                f"{CSRS}/yes/approval",
                with_conditions(condition("Approved", status="False")),
            ),
            Step("GET", f"{CSRS}/yes"),
            Step(
                "PUT",
                f"{CSRS}/yes/approval",
                with_conditions(condition("Approved"), condition("Denied")),
            ),
            Step("GET", f"{CSRS}/yes"),
            Step("PUT", f"{CSRS}/yes/status", with_conditions(condition("Denied"))),
            Step("GET", f"{CSRS}/yes"),
            Step(
                "PUT",
                f"{CSRS}/yes/status",
                with_conditions(condition("Approved", reason="Other"), condition("Failed")),
            ),
            Step("PUT", f"{CSRS}/yes/status", with_conditions(certificate="bm8=")),
            Step("GET", f"{CSRS}/yes"),
            Step("PUT", f"{CSRS}/yes/approval", with_conditions(certificate="bm8=")),
        ),
        managed=False,
    ),
    Case(
        "a condition twice, without a type, of no known status",
        decided(
            "odd",
            Step(
                "PUT",
                f"{CSRS}/odd/approval",
                with_conditions(condition("A"), condition("A"), condition("")),
            ),
            Step("GET", f"{CSRS}/odd"),
            Step(
                "PUT",
                f"{CSRS}/odd/approval",
                with_conditions(condition("A", status="Maybe"), condition("B", status="")),
            ),
        ),
        managed=False,
    ),
    Case(
        "token requests that are refused",
        account(
            token({"expirationSeconds": 599}),
            token({"expirationSeconds": 1 << 33}),
            token({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "a"}}),
            token({"boundObjectRef": {"kind": "Deployment", "apiVersion": "apps/v1", "name": "a"}}),
            token({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nobody"}}),
            token({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "nobody"}}),
            token({"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "nobody"}}),
            token({}, metadata={"name": "other"}),
            token({}, metadata={"namespace": "other"}),
            token({}, metadata={"uid": "other"}),
            Step("POST", f"{ACCOUNTS}/nobody/token", {"spec": {}}),
            Step("GET", f"{ACCOUNTS}/robot/token"),
        ),
    ),
    Case(
        "reviews of tokens that are none",
        [
            review(""),
            review("abc"),
            review("a.b.c"),
            review("e30.e30.e30"),
            review("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJvdGhlciJ9.e30", audiences=["x"]),
        ],
        managed=False,
    ),
    Case(
        "a token as it is made, and reviewed while its account lives",
        account(
            token({}),
            Step("POST", REVIEWS, reviewed()),
            token({"audiences": ["vault"], "expirationSeconds": 7200}),
            Step("POST", REVIEWS, reviewed()),
            token({"audiences": ["vault"]}),
            Step("POST", REVIEWS, reviewed("vault", "other")),
            Step("DELETE", f"{ACCOUNTS}/robot"),
            # A second in which nothing happens: upstream looks for the account in a cache.
            Step(
                "GET", f"{ACCOUNTS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dnobody"
            ),
            Step("POST", REVIEWS, lambda answers: reviewed("vault")(answers[:6])),
        ),
        managed=False,
    ),
    Case(
        "a token bound to a secret",
        account(
            Step("POST", SECRETS, {"metadata": {"name": "s"}}),
            token({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}}),
            Step("POST", REVIEWS, reviewed()),
            token(
                {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "x"}}
            ),
        ),
        managed=False,
    ),
    Case(
        "who one is and what one may",
        [
            Step("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}),
            Step("POST", f"{AUTH}/selfsubjectaccessreviews", may(verb="get", resource="pods")),
            Step("POST", f"{AUTH}/selfsubjectaccessreviews", {"spec": {}}),
            Step("POST", f"{AUTH}/subjectaccessreviews", may("joe", verb="get", resource="pods")),
            Step("POST", f"{AUTH}/subjectaccessreviews", may(verb="get", resource="pods")),
            Step("POST", LOCAL, may("joe", verb="get", resource="pods", namespace="{ns}")),
            Step("POST", LOCAL, may("joe", verb="get", resource="pods", namespace="other")),
        ],
        managed=False,
    ),
]
