"""How long a webhook is waited for."""

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, cast

import pytest

from winkube.apiserver.admission.webhook.caller import Caller
from winkube.apiserver.admission.webhook.hooks import Hook
from winkube.apiserver.admission.webhook.review import CallError
from winkube.apiserver.deadline import begin
from winkube.base.types import JsonObject

if TYPE_CHECKING:
    from winkube.apiserver.served import Resources


class Unanswered(Caller):
    async def _post(
        self, url: str, name: str | None, context: ssl.SSLContext, review: JsonObject
    ) -> Any:
        await asyncio.Event().wait()


async def test_no_webhook_is_waited_for_longer_than_the_request_has_left() -> None:
    spec = {"clientConfig": {"url": "https://hook.example.com/v"}, "timeoutSeconds": 30}
    hook, caller = Hook("u", "v.example.com", spec, None, None), Unanswered(cast("Resources", None))
    begin(0.01)
    for _ in range(2):
        with pytest.raises(CallError, match=r"/v\?timeout=30s\": context deadline exceeded"):
            async with asyncio.timeout(20):
                await caller.ask(hook, {})
