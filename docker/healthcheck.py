"""Whether the service in this container answers: exits with 0 if so, with 1 and the reason if not."""

import http.client
import os
import sys

address = f"127.0.0.1:{os.environ['DRAGOMAN_PORT']}"
try:
    connection = http.client.HTTPConnection(address, timeout=4)
    connection.request("GET", "/healthz")
    status = connection.getresponse().status
except (OSError, http.client.HTTPException) as fault:
    sys.exit(f"{address} does not answer: {fault}")
sys.exit(None if status == 200 else f"{address} answers {status}")
