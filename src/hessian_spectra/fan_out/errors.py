"""What the user is told when items could not be computed."""


class FanOutError(RuntimeError):
    """Some items could not be computed; the message is one line and says what to do."""
