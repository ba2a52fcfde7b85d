// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { buildAuthorizer } from "../../configuration/policy/configured-policy.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parse } from "./parse-text.ts";

const modelOf = (lines: string, environment = {}) =>
  parse(`extract:\n  url: https://models.example/v1\n  model: small\n${lines}`, environment).servers[0];

describe("extract", () => {
  it("makes a server of a model, with its key in the header that its API has", () => {
    expect(
      modelOf('  key: "${MODEL_KEY}"\n  accepts: [internal]', { MODEL_KEY: "key-of-the-model" }),
    ).toMatchObject({
      name: "ptc",
      transport: "model",
      url: "https://models.example/v1/chat/completions",
      api: "openai",
      headers: { authorization: "Bearer key-of-the-model" },
      flow: { accepts: ["internal"], tools: {} },
      maxCalls: 100,
      callTimeoutMs: 60_000,
    });
    const sourced = modelOf("  key: { keyring: model }\n  max_calls: 3");
    expect(sourced).toMatchObject({
      headers: {},
      maxCalls: 3,
      secretSources: {
        authorization: {
          from: "keyring",
          name: "model",
          prefix: "Bearer ",
          place: "ptc.yaml:4: extract.key",
        },
      },
    });
    const { credentials } = parse("extract: { url: 'https://a.example', model: m, key: { env: K } }", {
      K: "variable-key",
    });
    expect(credentials).toContain("variable-key");
    expect(modelOf("  key: '${NO_KEY}'")).toMatchObject({
      off: expect.stringContaining("NO_KEY is not set in the environment (ptc.yaml:4: extract.key)"),
    });
    expect(parse("extract:").servers).toEqual([]);
  });

  it("keeps the personal data from a model that is redacted, but for what its entry allows", () => {
    const withheld = (own: string) =>
      parse(
        `pii: { redact: [email, phone], countries: [DE] }\nextract: { url: "https://a.example", model: m${own} }`,
      ).servers[0];
    expect(withheld("")).toMatchObject({ withheldPii: { kinds: ["email", "phone"], countries: ["DE"] } });
    expect(withheld(", pii: { allow: [email] }")).toMatchObject({ withheldPii: { kinds: ["phone"] } });
    expect(withheld(", pii: { allow: [email, phone] }")).toMatchObject({ withheldPii: undefined });
  });

  it("keeps what is labelled from a model that does not accept it", async () => {
    const yaml = `servers: [{ name: crm, command: x, labels: [personal] }]
extract: { url: "https://models.example", model: m, accepts: [internal] }`;
    const authorizer = await buildAuthorizer(parse(yaml));
    const tool = {
      namespacedName: "mcp__ptc__extract",
      server: "ptc",
      module: "ptc",
      name: "extract",
      identifier: "extract",
      inputSchema: {},
      definitionDigest: "",
    };
    const context = { principal: "local", via: "test" } as unknown as RunContext;
    const read = { seq: 1, tool: "mcp__crm__get", server: "crm", name: "get" };
    const decide = (reads: (typeof read)[]) =>
      authorizer.authorize(context, tool, {}, { calls: reads.length, callsOfTool: 0, reads });
    expect(await decide([])).toMatchObject({ kind: "allow" });
    expect(await decide([read])).toMatchObject({
      kind: "deny",
      rule: "accepts: server 'ptc'",
      reason: expect.stringContaining("it does not accept 'personal' data"),
    });
  });

  it.each([
    ["https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions", "openai"],
    ["http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/chat/completions", "openai"],
    [
      "https://a.example/openai/deployments/x/chat/completions?api-version=1",
      "https://a.example/openai/deployments/x/chat/completions?api-version=1",
      "openai",
    ],
    ["https://api.anthropic.com", "https://api.anthropic.com/v1/messages", "anthropic"],
    ["https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages", "anthropic"],
    ["https://gateway.example/claude/v1/messages", "https://gateway.example/claude/v1/messages", "anthropic"],
    ["https://anthropic.com.example/v1", "https://anthropic.com.example/v1/chat/completions", "openai"],
  ])("asks %s at %s by the API of %s", (url, address, api) => {
    expect(parse(`extract: { url: '${url}', model: m }`).servers[0]).toMatchObject({ url: address, api });
  });
});

const parseSearch = (search: object) =>
  parse(JSON.stringify({ search }), { KEY: "key-from-outside", HOST: "http://127.0.0.1:1" });
const embedding = { url: "http://127.0.0.1:1/v1", model: "m" };

describe("the models of search", () => {
  it.each([
    ["a text", "plain-key", "plain-key"],
    ["a variable", "${KEY}", "key-from-outside"],
    ["the name of a variable", { env: "KEY" }, "key-from-outside"],
  ])("have a key that is %s, and that is redacted", (_, key, expected) => {
    const { search, credentials, secrets } = parseSearch({ embedding: { ...embedding, key } });
    expect(search).toEqual({ embedding: { ...embedding, key: expected, timeoutMs: 2_000 } });
    expect(credentials).toContain(expected);
    expect(secrets).toContain(expected);
  });

  it("may have a key that is read when it is needed, and variables in the address", () => {
    const { search } = parseSearch({
      rerank: { url: "${HOST}/v1", model: "m", key: { file: "key.txt" }, timeout_seconds: 0.5 },
    });
    expect(search.rerank).toMatchObject({
      url: "http://127.0.0.1:1/v1",
      key: { from: "file", path: "/project/key.txt" },
      timeoutMs: 500,
    });
  });

  it("are off where a variable is not set", () => {
    const { search, secrets } = parseSearch({ embedding: { ...embedding, key: "${NOT_SET}" } });
    expect(search.embedding?.off).toBe("NOT_SET is not set in the environment");
    expect(secrets).toEqual([]);
  });
});
