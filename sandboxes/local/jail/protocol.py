"""Messages between the provider and its interpreter server: JSON with descriptors, one per packet."""

from __future__ import annotations

import array
import json
import socket
from typing import Any

MAX_MESSAGE_BYTES = 65536
MAX_DESCRIPTORS = 8

Message = dict[str, Any]  # Any: a JSON object


def send(channel: socket.socket, message: Message, descriptors: tuple[int, ...] = ()) -> None:
    """Send one message; the descriptors are duplicated into the receiver."""
    socket.send_fds(channel, [json.dumps(message).encode()], descriptors)


def receive(channel: socket.socket) -> tuple[Message, list[int]] | None:
    """Receive one message with its descriptors, or `None` when the other side is gone."""
    space = socket.CMSG_SPACE(MAX_DESCRIPTORS * 4)
    try:
        data, ancillary, _, _ = channel.recvmsg(MAX_MESSAGE_BYTES, space, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return None
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
    if not data:
        return None
    return json.loads(data), list(descriptors)
