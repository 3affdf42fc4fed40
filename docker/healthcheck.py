"""Whether the service in this container has started and answers: exits with 0 if so, with 1 and the reason if not."""

import http.client
import json
import os
import sys

address = f"127.0.0.1:{os.environ['DRAGOMAN_PORT']}"
try:
    connection = http.client.HTTPConnection(address, timeout=4)
    connection.request("GET", "/healthz")
    response = connection.getresponse()
    status, state = response.status, json.load(response)["status"]
except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as fault:
    sys.exit(f"{address} does not answer: {fault}")
sys.exit(None if (status, state) == (200, "ok") else f"{address} answers {status}: {state}")
