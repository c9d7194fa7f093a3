"""What looks at certificate requests one by one has in common."""

from abc import abstractmethod

from winkube.base.types import JsonObject
from winkube.client.resource import CERTIFICATESIGNINGREQUESTS
from winkube.controllers.controller import Context, Controller


class RequestController(Controller):
    workers = 1

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._requests = self.follow(CERTIFICATESIGNINGREQUESTS)

    async def reconcile(self, key: str) -> None:
        obj = self._requests.get(key)
        if obj is not None:
            await self.consider(key, obj)

    @abstractmethod
    async def consider(self, key: str, obj: JsonObject) -> None: ...
