import { request } from "node:http";
import { text } from "node:stream/consumers";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { listen } from "../upstream/mcp/upstream-http-servers.ts";

/** What stands between a client that knows other names, and a server. */
export interface Renaming {
  /** What the server gets instead of a client's message. */
  there: (message: JSONRPCMessage) => JSONRPCMessage;
  /** The client's name or URI of something, as the server knows it, in the header `Mcp-Name`. */
  name?: (name: string, method: string) => string;
  /** What the client gets instead of a part of an answer. */
  back?: (part: string) => string;
}

/** Passes requests on to a server over HTTP until the test is over, with other names. Returns the origin. */
export async function renameTo(target: URL, { there, name, back }: Renaming): Promise<string> {
  const origin = await listen(async (incoming, outgoing) => {
    const { headers } = incoming;
    const sent = await text(incoming);
    const body = sent === "" ? "" : JSON.stringify(there(JSON.parse(sent)));
    const named = headers["mcp-name"];
    const method = String(headers["mcp-method"]);
    const isOwn = headers.host === new URL(origin).host;
    const passed = request(target, {
      method: incoming.method ?? "GET",
      headers: {
        ...headers,
        ...(named === undefined || name === undefined ? {} : { "mcp-name": name(String(named), method) }),
        ...(isOwn ? { host: target.host } : {}),
        ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
      },
    });
    passed.on("response", (answer) => {
      const { "content-length": _, ...others } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 500, others);
      answer.setEncoding("utf8");
      // A name may be in two parts: what follows the last end of a line or of a text waits for more.
      let rest = "";
      answer.on("data", (part: string) => {
        const whole = rest + part;
        const end = Math.max(whole.lastIndexOf("\n"), whole.lastIndexOf('"')) + 1;
        rest = whole.slice(end);
        outgoing.write(back === undefined ? whole.slice(0, end) : back(whole.slice(0, end)));
      });
      answer.on("end", () => outgoing.end(back === undefined ? rest : back(rest)));
      answer.on("error", () => outgoing.destroy());
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    passed.end(body);
  });
  return origin;
}
