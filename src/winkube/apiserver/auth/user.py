"""Who is asking."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from winkube.base.types import JsonObject

MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_SYSTEM_ACCOUNTS: Final = f"{SERVICE_ACCOUNT_PREFIX}kube-system"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def tenant(self) -> str:
        """Whom to count what is asked for as: who may make one service account may make many."""
        if not self.name.startswith(SERVICE_ACCOUNT_PREFIX):
            return self.name
        namespace = self.name.rpartition(":")[0]
        return self.name if namespace == _SYSTEM_ACCOUNTS else namespace

    def to_json(self) -> JsonObject:
        """UserInfo of authentication.k8s.io."""
        info: JsonObject = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ANONYMOUS: Final = User("system:anonymous", (UNAUTHENTICATED,))
# The server's own writes (seeding); never the result of authentication.
SELF: Final = User("system:apiserver", (MASTERS, AUTHENTICATED))


def service_account_user(namespace: str, name: str, uid: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}", groups, uid)


def is_node(user: User) -> bool:
    return NODES in user.groups and user.name.startswith(NODE_PREFIX)


def node_of(user: User) -> str:
    """The node a kubelet's certificate names; empty for everybody else."""
    return user.name.removeprefix(NODE_PREFIX) if is_node(user) else ""
