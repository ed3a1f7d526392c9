#!/bin/bash
cat > /app/server.py <<'EOF'
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = re.compile(r"[a-z0-9-]{1,32}")
notes = {}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body=b"", kind="application/octet-stream"):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)

    def name(self):
        return self.path.removeprefix("/notes/")

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, b"ok", "text/plain")
        elif self.path == "/notes":
            self.answer(200, json.dumps(sorted(notes)).encode(), "application/json")
        elif self.name() in notes:
            self.answer(200, notes[self.name()])
        else:
            self.answer(404)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.startswith("/notes/") or not NAME.fullmatch(self.name()):
            self.answer(400)
            return
        known = self.name() in notes
        notes[self.name()] = body
        self.answer(204 if known else 201)

    def do_DELETE(self):
        self.answer(404 if notes.pop(self.name(), None) is None else 204)


ThreadingHTTPServer(("127.0.0.1", 8765), Handler).serve_forever()
EOF
setsid nohup python3 /app/server.py > /app/server.log 2>&1 < /dev/null &
# it may take a moment before it listens
for _ in $(seq 50); do
    if (exec 3<> /dev/tcp/127.0.0.1/8765) 2> /dev/null; then break; fi
    sleep 0.1
done
