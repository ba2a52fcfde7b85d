import { describe, expect, it } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";

const environment = { KEY: "key-from-outside", HOST: "http://127.0.0.1:1" };
const parse = (search: object) =>
  parseConfiguration(JSON.stringify({ search }), { file: "ptc.yaml", directory: "/project", environment });
const embedding = { url: "http://127.0.0.1:1/v1", model: "m" };

describe("the models of search", () => {
  it.each([
    ["a text", "plain-key", "plain-key"],
    ["a variable", "${KEY}", "key-from-outside"],
    ["the name of a variable", { env: "KEY" }, "key-from-outside"],
  ])("have a key that is %s, and that is redacted", (_, key, expected) => {
    const { search, credentials, secrets } = parse({ embedding: { ...embedding, key } });
    expect(search).toEqual({ embedding: { ...embedding, key: expected, timeoutMs: 2_000 } });
    expect(credentials).toContain(expected);
    expect(secrets).toContain(expected);
  });

  it("may have a key that is read when it is needed, and variables in the address", () => {
    const { search } = parse({
      rerank: { url: "${HOST}/v1", model: "m", key: { file: "key.txt" }, timeout_seconds: 0.5 },
    });
    expect(search.rerank).toMatchObject({
      url: "http://127.0.0.1:1/v1",
      key: { from: "file", path: "/project/key.txt" },
      timeoutMs: 500,
    });
  });

  it("are off where a variable is not set", () => {
    const { search, secrets } = parse({ embedding: { ...embedding, key: "${NOT_SET}" } });
    expect(search.embedding?.off).toBe("NOT_SET is not set in the environment");
    expect(secrets).toEqual([]);
  });

  it.each([
    [{ url: "ftp://x", model: "m" }, "search.embedding.url: is not a URL"],
    [{ url: "http://me:pass@127.0.0.1/v1", model: "m" }, "search.embedding.url: holds credentials"],
    [{ url: "http://127.0.0.1/v1" }, "search.embedding.model"],
    [
      { ...embedding, timeout_seconds: 0 },
      "search.embedding.timeout_seconds: must be a number from 0.05 to 60",
    ],
    [{ ...embedding, key: "two words" }, "search.embedding.key: must be a key"],
    [{ ...embedding, modle: "m" }, "search.embedding.modle: is not a known key; did you mean 'model'?"],
  ])("refuse %j", (entry, message) => {
    expect(() => parse({ embedding: entry })).toThrow(message);
  });
});
