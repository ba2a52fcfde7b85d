import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { enter, serveConsole } from "./served-console.ts";

/** What a server answers to a request that is written as it is: the status. */
async function statusOf(origin: string, text: string): Promise<number> {
  const { hostname, port, host } = new URL(origin);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
    if (answer.includes("\r\n\r\n")) socket.destroy();
  });
  socket.write(text.replace("HOST", host));
  await once(socket, "close");
  return Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? 0);
}

it.each([
  ["a path that leads out of the console", "GET /console/../x HTTP/1.1", 404],
  ["a path that leads out of it by escapes", "GET /console/%2e%2e/x HTTP/1.1", 404],
  ["a path beside it", "GET /x HTTP/1.1", 404],
  ["a path that begins like it", "GET /consoles HTTP/1.1", 404],
  ["the root of the machine's paths", "GET //x/console HTTP/1.1", 404],
  ["a path with a broken escape", "GET /console/runs/%E0%A4%A HTTP/1.1", 404],
  ["no path", "OPTIONS * HTTP/1.1", 400],
  ["a method that nobody knows", "PROPFIND /console/runs HTTP/1.1", 403],
])("answers %s with a problem of the client", async (_, line, status) => {
  const { origin, address, warnings } = await serveConsole();
  const visitor = await enter(origin, address());
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const got = await statusOf(origin, `${line}\r\nHost: HOST\r\nCookie: ${cookie}\r\n\r\n`);
  expect([got, warnings]).toEqual([status, []]);
});

it.each([
  ["that fits is read, and needs the session's token", "token=x", 403],
  ["that is too large is refused", `token=${"x".repeat(70_000)}`, 413],
])("a form in chunks %s", async (_, form, status) => {
  const { origin, address, warnings } = await serveConsole();
  const visitor = await enter(origin, address());
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const head = `POST /console/rules/what-if HTTP/1.1\r\nHost: HOST\r\nOrigin: ${origin}\r\nSec-Fetch-Site: same-origin\r\nCookie: ${cookie}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const chunks = `${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n`;
  expect([await statusOf(origin, head + chunks), warnings]).toEqual([status, []]);
});
