import assert from "node:assert/strict";
import { connect } from "node:net";
import { type CallbackListener, listenForCallback } from "../../../logins/log-in.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileText } from "../hostile/hostile-text.ts";
import { LISTS } from "../hostile/words.ts";

const PATIENCE_MS = 30_000;

let listener: CallbackListener;
/** The queries that reached the login. */
let queries: URLSearchParams[] = [];

/** Requests to the listener that waits for a browser: anything on the machine can send them. */
export const target = fuzzTarget({
  name: "callbacks",
  iterations: 100,
  generate(random) {
    const targets = LISTS.requestTargets;
    const method = random.chance(0.8)
      ? "GET"
      : random.pick(["POST", "CONNECT", "OPTIONS", "HEAD", "get", ""]);
    const path =
      random.pick(targets) + (random.chance(0.5) ? hostileText(random, 3).replaceAll(/\s/g, "") : "");
    const headers = random.list(random.size(4), () => {
      const name = random.pick([
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Expect",
        "Upgrade",
        "Connection",
      ]);
      const value = random.pick([
        "[",
        "a:b:c",
        "-1",
        "chunked",
        "100-continue",
        "websocket",
        "upgrade",
        "x".repeat(300),
      ]);
      return `${name}: ${value}\r\n`;
    });
    const version = random.pick(["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", ""]);
    return `${method} ${path} ${version}\r\n${random.chance(0.7) ? "Host: localhost\r\n" : ""}${headers.join("")}\r\n`;
  },
  async open() {
    listener = await listenForCallback(undefined, "127.0.0.1", async (query) => {
      queries.push(query);
      return query.get("state") === "ours" ? "good" : "foreign";
    });
    return () => listener.close();
  },
  async check(input, random) {
    await send(random.chunks(input));
    queries = [];
    const answer = await fetch(`${listener.redirectUri}?state=ours&code=a%26b?c`);
    assert.equal(answer.status, 200, "the redirect that is waited for is answered");
    assert.equal(queries.at(-1)?.get("code"), "a&b?c");
  },
});

/** Sends bytes, and waits until the listener has closed the connection or answered. */
function send(chunks: readonly Buffer[]): Promise<void> {
  const { port } = new URL(listener.redirectUri);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: Number(port) });
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error("no answer")));
    socket.on("error", (error) => (error.message === "no answer" ? reject(error) : resolve()));
    socket.on("close", () => resolve());
    socket.resume();
    for (const chunk of chunks) socket.write(chunk);
    socket.end();
  });
}
