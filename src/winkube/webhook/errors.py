"""What can go wrong in a webhook.

WinkubeError
└── WebhookError
    ├── SettingError        what the command was told does not fit together
    └── ReviewError         a request that is no question (HTTP 400 or 413)
"""

from winkube.base.errors import WinkubeError


class WebhookError(WinkubeError):
    pass


class SettingError(WebhookError):
    pass


class ReviewError(WebhookError):
    code = 400


class TooLargeError(ReviewError):
    code = 413
