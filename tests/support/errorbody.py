from __future__ import annotations

import re

import httpx

FIELDS = {"id", "message", "detail", "error", "error_type", "request_id"}


def check_error(response: httpx.Response, status: int, message: str) -> str:
    """Check that a response is the one error body, whole, with this status and a message that matches."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == FIELDS
    assert all(isinstance(value, str) and value for value in body.values())
    assert body["request_id"] == response.headers["x-request-id"]
    assert body["message"] == body["detail"] == body["error"]
    assert re.search(message, body["message"]), body["message"]
    assert "Traceback" not in response.text
    return str(body["message"])
