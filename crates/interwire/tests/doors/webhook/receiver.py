"""Receives webhooks: verifies each with the Standard Webhooks library, and answers with the statuses it was
given, then with 204. Prints its port, then a line of JSON for each request."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks.webhooks import Webhook

webhook = Webhook(sys.argv[1])
statuses = [int(text) for text in sys.argv[2:]]


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            webhook.verify(body, dict(self.headers))
            verified = True
        except Exception as error:
            verified = repr(error)
        status = statuses.pop(0) if statuses else 204
        self.send_response(status)
        if status == 302:
            self.send_header("location", "/elsewhere")
        if status == 503:
            self.send_header("retry-after", "1")
        self.send_header("content-length", "0")
        self.end_headers()
        line = {
            "path": self.path,
            "verified": verified,
            "body": body.decode(),
            "id": self.headers["webhook-id"],
            "attempt": self.headers["interwire-attempt"],
        }
        print(json.dumps(line), flush=True)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
