import { beforeAll, describe, expect, it } from "vitest";
import { fixtureServer, type Project, usePtc } from "./ptc-process.ts";

const newProject = usePtc();
let project: Project;

beforeAll(async () => {
  project = newProject();
  project.write("ptc.yaml", {
    servers: [fixtureServer("my-documents", "documents.mjs"), fixtureServer("slow", "slow-tool.mjs")],
  });
  await project.generate();
});

const MISTAKES: [code: string, advice: RegExp][] = [
  [
    'await fetch("https://example.com");',
    /line 1: a program has no network: .*\(servers: my_documents, slow\)/,
  ],
  ['import dns from "node:dns/promises";\nawait dns.lookup("example.com");', /a program has no network/],
  [
    'await getDocument({ documentId: "a" });',
    /write import \{ getDocument \} from "\.\/servers\/my_documents\/index\.js"/,
  ],
  ['await getDoc({ documentId: "a" });', /did you mean 'getDocument'\?/],
  [
    'import { readFileSync } from "node:fs";\nreadFileSync("/home/me/a.csv");',
    /does not see the files of the host/,
  ],
  ['import { writeFileSync } from "node:fs";\nwriteFileSync("/etc/a", "");', /may write in \/workspace only/],
  ['import { execSync } from "node:child_process";\nexecSync("ls");', /no other programs in the sandbox/],
  ['const x = require("./servers/slow/index.js");', /a program is an ES module: write import \* as slow/],
  ['const x = require("lodash");', /there are no packages in the sandbox/],
  [
    'await callTool("my_documents.get_doc", { key: process.env.API_KEY });',
    /did you mean callTool\("mcp__my_documents__get_document", args\)\?/,
  ],
  [
    'await callTool("my_documents.get_doc", { key: process.env.API_KEY });',
    /process\.env\.API_KEY is not set in the sandbox/,
  ],
];

describe("ptc run", () => {
  it.each(MISTAKES)("of %j says what to do, on stderr alone", async (code, advice) => {
    const { envelope, stderr } = await project.run(code);
    expect(envelope.result.ok).toBe(false);
    expect(stderr).toMatch(advice);
    expect(stderr).toMatch(/^(?:ptc: [^\n]+\n)+$/);
  });

  it("says how a value that was lost is given, and changes nothing of the envelope", async () => {
    const { envelope, stderr } = await project.run("const n = 1;\nn;");
    expect(envelope.result).toMatchObject({ ok: true, data: "" });
    expect(stderr).toMatch(
      /^ptc: nothing was printed and no result is set: .* write globalThis\.result = n\n$/,
    );
  });
});

describe("ptc serve", () => {
  it("says which call was pending when the time was up, after the text that the table of replies has", async () => {
    const { client } = await project.serve();
    try {
      const code = "console.log('before'); await mcp__slow__go({});";
      const reply = await client.callTool({
        name: "execute_program",
        arguments: { code, timeout_seconds: 2 },
      });
      const [content] = reply.content as { text: string }[];
      expect(content?.text).toMatch(
        /^\[Script execution failed\]\nTimeoutError: Execution exceeded 2s limit\n\nA call was pending: mcp__slow__go \(for \d\.\d s\)\nMore time: `timeout_seconds`/,
      );
    } finally {
      await client.close();
    }
  });
});

describe("ptc inspect", () => {
  it("knows a tool by any name that programs call it by, and else tells a person what finds tools", async () => {
    for (const name of [
      "get_document",
      "getDocument",
      "my_documents.get_document",
      "mcp__my_documents__getDocument",
    ])
      expect(await project.ptc(["inspect", name])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("mcp__my_documents__get_document"),
      });
    expect(await project.ptc(["inspect", "zebra"])).toMatchObject({
      code: 2,
      stderr: "ptc: there is no tool 'zebra'; find one with `ptc search`\n",
    });
  });
});
