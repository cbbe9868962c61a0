"""Requests of a test to a dashboard, as a browser sends them."""

import http.client
import json

LIMIT_S = 60


def asked(host: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
    """Status and text of an answer."""
    connection = http.client.HTTPConnection(host, timeout=LIMIT_S)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, str | None) else json.dumps(body)
    connection.request(method, path, text, named)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    assert answer.getheader("Content-Security-Policy", "").startswith("default-src 'none'")
    connection.close()
    return found
