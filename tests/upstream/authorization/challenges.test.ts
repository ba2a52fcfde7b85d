/** What a server answers to a first request without a token. */
import { describe, expect, test } from "vitest";
import { askForChallenge } from "../../../upstream/authorization/authorized-fetch.ts";
import { type Answer, serveApi } from "../openapi/serve-api.ts";

const ask = async (answer: Answer, transport: "http" | "sse" | "openapi" = "http") => {
  const api = await serveApi(() => answer);
  const challenge = await askForChallenge({ transport, url: `${api.url}/mcp`, headers: { "x-own": "mine" } });
  return { challenge, asked: api.asked };
};
const challenging = (header: string, status = 401): Answer => ({
  status,
  headers: { "www-authenticate": header },
});

describe("a server that is asked for its challenge", () => {
  test.each<[Answer, object | undefined]>([
    [
      challenging('Basic realm="a, b", bearer resource_metadata="https://a.example/m", scope="x y", scope=z'),
      {
        ...{ kind: "unauthorized", isOfTokens: true, scope: "x y" },
        resourceMetadataUrl: "https://a.example/m",
      },
    ],
    [challenging("Bearer"), { kind: "unauthorized", isOfTokens: true, scope: undefined }],
    [challenging(String.raw`Bearer SCOPE="a\"b"`), { isOfTokens: true, scope: 'a"b' }],
    [challenging('Basic realm="Bearer x"'), { kind: "unauthorized", isOfTokens: false }],
    [{ status: 401 }, { kind: "unauthorized", isOfTokens: false, scope: undefined }],
    [
      challenging('Bearer error="insufficient_scope", scope=w', 403),
      { kind: "insufficient_scope", isOfTokens: true, scope: "w" },
    ],
    [challenging('Bearer error="invalid_token"', 403), undefined],
    [{ status: 403 }, undefined],
    [{ status: 200 }, undefined],
    [{ status: 302, headers: { location: "/elsewhere" } }, undefined],
  ])("and answers %j says by it %j", async (answer, expected) => {
    const { challenge, asked } = await ask(answer);
    if (expected === undefined) expect(challenge).toBeUndefined();
    else expect(challenge).toMatchObject(expected);
    // A redirect is not followed.
    expect(asked.map(({ url }) => url)).toEqual(["/mcp"]);
  });

  test("is sent what its transport begins with, and the headers of its settings", async () => {
    const [http] = (await ask({ status: 401 })).asked;
    expect(http).toMatchObject({
      method: "POST",
      headers: {
        ...{ "x-own": "mine", "content-type": "application/json" },
        accept: "application/json, text/event-stream",
      },
    });
    expect(JSON.parse(String(http?.body))).toMatchObject({ jsonrpc: "2.0", id: 0, method: "initialize" });
    for (const transport of ["sse", "openapi"] as const) {
      const [asked] = (await ask({ status: 401 }, transport)).asked;
      expect(asked).toMatchObject({
        method: "GET",
        headers: { "x-own": "mine", accept: "text/event-stream, */*;q=0.5" },
      });
      expect([asked?.headers["content-type"], asked?.body.length]).toEqual([undefined, 0]);
    }
  });

  test("says nothing where it cannot be reached, or who asks has given up", async () => {
    const about = { transport: "http", url: "http://127.0.0.1:1/mcp", headers: {} } as const;
    expect(await askForChallenge(about)).toBeUndefined();
    const api = await serveApi(() => ({ status: 401 }));
    expect(await askForChallenge({ ...about, url: api.url }, AbortSignal.abort())).toBeUndefined();
    expect(api.asked).toEqual([]);
  });
});
