// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { buildAuthorizer } from "../../configuration/policy/configured-policy.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parse, problemIn } from "./parse-text.ts";

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

  const addresses: [url: string, address: string, api: string][] = [
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
  ];
  for (const [url, address, api] of addresses)
    it(`asks ${address} of ${url}`, () =>
      expect(parse(`extract: { url: '${url}', model: m }`).servers[0]).toMatchObject({ url: address, api }));

  const bad: [name: string, yaml: string, message: string][] = [
    ["no URL", "extract: { model: m }", "ptc.yaml:1: extract.url: must be a text of 1 to 2048 characters"],
    ["no model", "extract:\n  url: https://a.example", "ptc.yaml:1: extract.model: must be a text"],
    [
      "a URL that is none",
      "extract:\n  url: a.example\n  model: m",
      "ptc.yaml:2: extract.url: is not a URL; write the base of an API",
    ],
    [
      "credentials in the URL",
      "extract:\n  url: https://a:b@c.example\n  model: m",
      "ptc.yaml:2: extract.url: holds credentials; write them as `key`",
    ],
    [
      "an unknown key",
      "extract:\n  url: https://a.example\n  model: m\n  modell: m",
      "ptc.yaml:4: extract.modell: is not a known key; did you mean 'model'?",
    ],
    [
      "an API that is none",
      "extract: { url: 'https://a.example', model: m, api: x }",
      "ptc.yaml:1: extract.api: must be one of openai, anthropic",
    ],
    [
      "a key with a line break",
      'extract: { url: "https://a.example", model: m, key: "a\\nb" }',
      "ptc.yaml:1: extract.key: holds a character that no HTTP header may; remove it",
    ],
    ["a list", "extract: []", "ptc.yaml:1: extract: must be a mapping of keys to values"],
    [
      "a server of its name",
      "servers: [{ name: ptc, command: x }]",
      "ptc.yaml:1: servers[0].name: is the name of ptc's own server; rename this one",
    ],
  ];
  for (const [name, yaml, message] of bad)
    it(`refuses ${name}`, () => expect(problemIn(yaml).slice(0, message.length)).toBe(message));
});
