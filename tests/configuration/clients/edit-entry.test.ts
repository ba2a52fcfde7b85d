import fc from "fast-check";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { editEntry } from "../../../configuration/clients/edit-entry.ts";
import { tries } from "../../tries.ts";

const PTC = { type: "stdio", command: "ptc", args: ["serve", "--config", "/p/ptc.yaml"] };
const JSON_PLACE = { path: "/p/.cursor/mcp.json", format: "json", keys: ["mcpServers"] } as const;
const CODEX = { command: "ptc", args: ["serve", "--config", "/p/ptc.yaml"], tool_timeout_sec: 600 };
const TOML_PLACE = { path: "/p/config.toml", format: "toml", keys: ["mcp_servers"] } as const;
const NAME = "ptc";

const add = (text: string | undefined) => editEntry(JSON_PLACE, text, { name: NAME, entry: PTC });
const remove = (text: string | undefined) => editEntry(JSON_PLACE, text, { name: NAME, entry: undefined });
const addToml = (text: string | undefined) => editEntry(TOML_PLACE, text, { name: NAME, entry: CODEX });
const removeToml = (text: string | undefined) =>
  editEntry(TOML_PLACE, text, { name: NAME, entry: undefined });

const SOME = { command: "npx", args: ["-y", "some"], env: { TOKEN: "x" } };

describe("an entry in a client's JSON", () => {
  it.each([
    ["no file", undefined],
    ["a file with other things", '{\n  "theme": "dark"\n}\n'],
    ["other servers", `${JSON.stringify({ mcpServers: { some: SOME }, other: [1] }, undefined, 2)}\n`],
    ["tabs", `${JSON.stringify({ mcpServers: { some: SOME } }, undefined, "\t")}`],
    [
      "four spaces and CRLF",
      JSON.stringify({ mcpServers: { some: SOME } }, undefined, 4).replaceAll("\n", "\r\n"),
    ],
    ["one line", '{"mcpServers":{"some":{"command":"npx"}},"x":"http://y"}'],
    [
      "comments",
      '// mine\n{\n  /* all */ "mcpServers": {\n    // the first\n    "some": { "command": "npx" } // kept\n  }\n}\n',
    ],
    ["a byte order mark", '\ufeff{\n  "mcpServers": {\n    "some": {}\n  }\n}'],
  ])("is put in, and taken out again without a trace: %s", async (_, before) => {
    const after = await add(before);
    const old = before === undefined ? {} : parseJsonc(before.replace("\ufeff", ""));
    expect(parseJsonc((after ?? "").replace("\ufeff", ""))).toEqual({
      ...old,
      mcpServers: { ...old.mcpServers, ptc: PTC },
    });
    for (const comment of before?.match(/\/\/ .*|\/\*.*?\*\//g) ?? []) expect(after).toContain(comment);
    expect(await add(after)).toBe(after);
    expect(await remove(after)).toBe(before);
  });

  it("changes what ptc sets of an entry of ptc's, and nothing else of it", async () => {
    const before = `{
  "mcpServers": {
    "ptc": {
      "command": "/old/node", // old
      "args": ["/old/ptc.js", "serve"],
      "env": { "A": "1" } // mine
    },
  },
}
`;
    const after = (await add(before)) ?? "";
    expect(parseJsonc(after).mcpServers.ptc).toEqual({ ...PTC, env: { A: "1" } });
    expect(after).toContain("// mine");
    expect(parseJsonc((await remove(after)) ?? "{}")).not.toHaveProperty("mcpServers.ptc");
  });

  it("is put where Claude Code has the servers of a folder", async () => {
    const place = { ...JSON_PLACE, keys: ["projects", "/p/x.y", "mcpServers"] };
    const before = JSON.stringify({ projects: { "/p/x.y": { a: 1 }, "/q": {} }, n: 1 });
    const after = await editEntry(place, before, { name: NAME, entry: PTC });
    expect(JSON.parse(after ?? "")).toEqual({
      projects: { "/p/x.y": { a: 1, mcpServers: { ptc: PTC } }, "/q": {} },
      n: 1,
    });
    expect(await editEntry(place, after, { name: NAME, entry: undefined })).toBe(before);
  });

  it.each([
    ["{", /^is not JSON \(line 1, column 2: CloseBraceExpected\); mend it/],
    ['{\n  "mcpServers": {,}\n}', /^is not JSON \(line 2, column 18: /],
    ["[]", /^holds no object/],
    ['{"mcpServers":[]}', /^mcpServers is no object/],
    ['{"mcpServers":{"ptc":{"url":"https://x"}}}', /^has a server 'ptc' that is not ptc, .*--name$/],
    ['{"mcpServers":{"a":{}},"mcpServers":{"b":{}}}', /^has the key "mcpServers" twice/],
  ])("leaves %s alone, and says why in one line", async (text, message) => {
    await expect(add(text)).rejects.toThrow(message);
  });

  it("loses nothing of any file", async () => {
    const key = fc.string({ maxLength: 6 }).filter((name) => name !== "__proto__" && name !== NAME);
    const servers = fc.dictionary(key, fc.record({ command: fc.string() }, { requiredKeys: [] }));
    const file = fc.record({ mcpServers: servers, a: fc.jsonValue() }, { requiredKeys: [] });
    const indent = fc.constantFrom(undefined, 2, 3, "\t");
    await fc.assert(
      fc.asyncProperty(file, indent, async (content, space) => {
        const before = JSON.stringify(content, undefined, space);
        const after = (await add(before)) ?? "";
        expect(JSON.parse(after)).toEqual({
          ...JSON.parse(before),
          mcpServers: { ...JSON.parse(before).mcpServers, ptc: PTC },
        });
        const { mcpServers = {}, ...rest } = JSON.parse((await remove(after)) ?? "{}");
        expect({ ...rest, mcpServers }).toEqual({ mcpServers: {}, ...JSON.parse(before) });
      }),
      { numRuns: tries(60) },
    );
  });
});

describe("an entry in a client's JSON with comments", () => {
  const COMMENT = /\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g;
  const values = (text: string | undefined) => {
    const { mcpServers = {}, ...rest } = parseJsonc(text ?? "", [], { allowTrailingComma: true }) ?? {};
    return { ...rest, mcpServers };
  };

  it("keeps every comment, wherever it stands, and leaves the values as they were", async () => {
    const trivia = fc
      .array(fc.constantFrom(" ", "\n", "\n  ", "// a, }\n", "// b\r\n", "/* c */", "/* , */", "/* }\n */"), {
        maxLength: 3,
      })
      .map((pieces) => pieces.join(""));
    const layout = fc.record({
      between: fc.array(trivia, { minLength: 40, maxLength: 40 }),
      hasComma: fc.boolean(),
    });
    const servers = fc.constantFrom(
      "{",
      '{ "a" : { "command" : "x" }',
      '{ "a" : { } , "b" : { "args" : [ "//" ] }',
    );
    await fc.assert(
      fc.asyncProperty(layout, servers, fc.boolean(), async ({ between, hasComma }, inner, isFirst) => {
        const comma = hasComma && inner !== "{" ? [",", "}"] : ["}"];
        const own = ['"mcpServers"', ":", ...inner.split(" "), ...comma];
        const other = ['"x"', ":", "1"];
        const tokens = ["{", ...(isFirst ? [...own, ",", ...other] : [...other, ",", ...own]), "}"];
        const text = tokens.map((token, index) => `${between[index]}${token}`).join("") + between.at(-1);
        const comments = text.replaceAll('"//"', '""').match(COMMENT) ?? [];
        const after = await add(text);
        expect(values(after)).toEqual({
          ...values(text),
          mcpServers: { ...values(text).mcpServers, ptc: PTC },
        });
        for (const comment of comments) expect(after).toContain(comment);
        const removed = await remove(after);
        expect(values(removed)).toEqual(values(text));
        for (const comment of comments) expect(removed).toContain(comment);
      }),
      { numRuns: tries(200) },
    );
  });

  it("is put behind the comments of a file that has nothing else", async () => {
    const after = await add("// mine");
    expect(after?.startsWith("// mine\n{\n")).toBe(true);
    expect(parseJsonc(after ?? "")).toEqual({ mcpServers: { ptc: PTC } });
  });
});

describe("an entry in a client's TOML", () => {
  const OTHERS = `# mine
model = "o" # kept

[mcp_servers.some]
command = "npx"
args = [
  "-y", # yes
  "some",
]

# the next
[profiles.x]
model = "y"
`;

  it.each([
    ["no file", undefined],
    ["other tables", OTHERS],
    ["no line feed at the end", 'model = "o"'],
    ["CRLF", OTHERS.replaceAll("\n", "\r\n")],
  ])("is put in, and taken out again without a trace: %s", async (_, before) => {
    const after = await addToml(before);
    const old = parseToml(before ?? "") as { mcp_servers?: object };
    expect(parseToml(after ?? "")).toEqual({ ...old, mcp_servers: { ...old.mcp_servers, ptc: CODEX } });
    expect(after?.startsWith(before ?? "")).toBe(true);
    expect(await addToml(after)).toBe(after);
    const removed = await removeToml(after);
    if (before?.endsWith("\n") === false) expect(removed).toBe(`${before}\n`);
    else expect(removed).toBe(before);
  });

  it("changes what ptc sets of an entry of ptc's, and nothing else", async () => {
    const before = `[mcp_servers."ptc"] # ptc
args = [
  "serve", # old
]
command = '/old/ptc'
enabled = true # mine
[mcp_servers.ptc.env]
A = "1"

# the next
[profiles.x]
`;
    const after = (await addToml(before)) ?? "";
    expect(parseToml(after)).toEqual({
      mcp_servers: { ptc: { ...CODEX, enabled: true, env: { A: "1" } } },
      profiles: { x: {} },
    });
    expect(after).toContain("enabled = true # mine");
    expect(await removeToml(after)).toBe("\n# the next\n[profiles.x]\n");
  });

  it.each([
    ["a = ", /^is not TOML; mend it/],
    ["[mcp_servers]\nptc = { url = 'https://x' }", /^has a server 'ptc' that is not ptc/],
    ["mcp_servers = { a = { command = 'x' } }", /^is written in a way .* add 'ptc' by hand$/],
    ["mcp_servers = 1", /^mcp_servers is no object/],
  ])("leaves %s alone, and says why in one line", async (text, message) => {
    await expect(addToml(text)).rejects.toThrow(message);
  });
});
