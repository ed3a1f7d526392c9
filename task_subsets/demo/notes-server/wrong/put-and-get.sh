#!/bin/bash
# Stores and returns notes, and takes every request for a good one.
cat > /app/server.py <<'EOF'
from http.server import BaseHTTPRequestHandler, HTTPServer

notes = {"/health": b"ok"}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200 if self.path in notes else 404, notes.get(self.path, b""))

    def do_PUT(self):
        notes[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201)


HTTPServer(("127.0.0.1", 8765), Handler).serve_forever()
EOF
setsid nohup python3 /app/server.py > /dev/null 2>&1 < /dev/null &
