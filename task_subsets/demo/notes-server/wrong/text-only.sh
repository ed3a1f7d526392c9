#!/bin/bash
# Everything but names and order; text only, so that bytes do not survive.
cat > /app/server.py <<'EOF'
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

notes = {}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body=""):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        name = self.path.split("/")[-1]
        if self.path == "/health":
            self.answer(200, "ok")
        elif self.path == "/notes":
            self.answer(200, json.dumps(list(notes)))
        elif name in notes:
            self.answer(200, notes[name])
        else:
            self.answer(404)

    def do_PUT(self):
        name = self.path.split("/")[-1]
        text = self.rfile.read(int(self.headers["Content-Length"])).decode(errors="replace")
        status = 204 if name in notes else 201
        notes[name] = text
        self.answer(status)

    def do_DELETE(self):
        self.answer(204 if notes.pop(self.path.split("/")[-1], None) else 404)


HTTPServer(("127.0.0.1", 8765), Handler).serve_forever()
EOF
setsid nohup python3 /app/server.py > /dev/null 2>&1 < /dev/null &
