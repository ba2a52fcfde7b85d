import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { usePtcWithoutWalls } from "./in-process.ts";

const project = usePtcWithoutWalls();

describe("ptc run with something it cannot start from", () => {
  const servers = (entry: string) => `servers:\n  - name: x\n${entry}`;

  test.each([
    ["an unknown key", "execution:\n  timeout: 5\n", /^ptc: ptc\.yaml:2: .*timeout/],
    ["a wrong type", "execution:\n  pids: many\n", /^ptc: ptc\.yaml:2: .*pids/],
    ["zero for a limit", "execution:\n  max_tool_calls: 0\n", /^ptc: ptc\.yaml:2: .*max_tool_calls/],
    ["broken YAML", "servers: [\n", /^ptc: ptc\.yaml:\d+: /],
    [
      "a variable that is not closed",
      servers("    command: x\n    env: { KEY: '$" + "{PTC_NOT_CLOSED' }\n"),
      /^ptc: ptc\.yaml:4: servers\[0\]\.env\.KEY: /,
    ],
    [
      "two servers of one module",
      "servers:\n  - { name: a-b, command: x }\n  - { name: a.b, command: x }\n",
      /^ptc: ptc\.yaml:3: .*a_b/,
    ],
    ["both allow and block", "tools:\n  allow: []\n  block: ['x']\n", /^ptc: ptc\.yaml:\d: /],
    [
      "a block that matches no tool",
      "tools:\n  block: ['mcp__x__y']\n",
      /^ptc: ptc\.yaml:2: .*'mcp__x__y' matches no tool/,
    ],
    ["a weaker runtime", "sandbox:\n  runtime: runc\n", /^ptc: ptc\.yaml:2: .*allow_weaker_isolation/],
    [
      "aliases that multiply",
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${[..."bcdefghij"].map((n, i) => `${n}: &${n} [${Array(10).fill(`*${"abcdefghi"[i]}`)}]`).join("\n")}\n`,
      /^ptc: ptc\.yaml:\d+: /,
    ],
  ])("refuses %s in one line that names file and line", async (_, config, message) => {
    const { code, stdout, stderr } = await project({ "ptc.yaml": config, "p.ts": "" }).ptc(["run", "p.ts"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test.each([
    ["a missing configuration", ["run", "p.ts", "--config", "none.yaml"], /none\.yaml/],
    ["a missing program", ["run", "none.ts"], /none\.ts: there is no such file/],
    ["a folder", ["run", "folder.ts"], /folder\.ts: is a folder/],
    ["another language", ["run", "p.rb"], /p\.rb: not a program/],
    ["broken data", ["run", "p.ts", "--data", "{a: 1}"], /--data: is not JSON/],
    ["a missing data file", ["run", "p.ts", "--data", "@none.json"], /none\.json: there is no such file/],
    ["a time limit that is none", ["run", "p.ts", "--timeout", "soon"], /--timeout: 'soon'/],
    ["a time limit of zero", ["run", "p.ts", "--timeout", "0"], /--timeout: '0'/],
    ["an unknown flag", ["run", "p.ts", "--dta", "1"], /--data/],
    ["no program", ["run"], /file/],
    ["an unknown command", ["rnu", "p.ts"], /run/],
  ])("refuses %s", async (_, args, message) => {
    const folder = project({ "p.ts": "", "p.rb": "" });
    mkdirSync(join(folder.directory, "folder.ts"));
    const { code, stdout, stderr } = await folder.ptc(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

const SECRET = "root-of-the-host-file";

describe("a program that does not bundle", () => {
  test("is told its own line", async () => {
    const { code, envelope } = await project().run("const a = 1;\nconst b = ;\n");
    expect(code).toBe(1);
    expect(envelope.result).toMatchObject({
      ok: false,
      error: { type: "BundleError", message: 'program.ts:2:11: Unexpected ";"\n    const b = ;' },
    });
  });

  test.each([
    ["an absolute path", 'import "/etc/passwd";'],
    ["a file beside the program", 'import x from "./secret.json";'],
    ["a text file beside the program", 'import x from "./secret.txt" with { type: "text" };'],
    ["JSON with an attribute", 'import x from "./secret.json" with { type: "json" };'],
    ["a path upwards", 'import x from "../../package.json";'],
    ["a path out of the servers", 'import x from "./servers/../../secret.json";'],
    ["a package", 'import x from "esbuild";'],
    ["a data URL", 'import x from "data:text/javascript,export default 1";'],
    ["a file URL", 'await import("file:///etc/passwd");'],
    ["an http URL", 'import x from "http://127.0.0.1:1/x.js";'],
    ["require", 'const x = require("/etc/passwd");'],
    ["an export", 'export * from "./secret.json";'],
    ["a pattern", 'const x = await import("./secret." + data.ending);'],
    ["a pattern for require", 'const x = require("./secret." + data.ending);'],
    ["a pattern upwards", 'const x = await import("../../../../etc/pass" + data.ending);'],
    ["a namespace of the bundler", 'import x from "generated:everything";'],
    ["the runtime of the modules", 'import { tool as x } from "../../runtime.js";'],
    ["an internal import", 'import x from "#internal";'],
    ["an asset", 'const x = new URL("./secret.txt", import.meta.url); import "./secret.css";'],
  ])("is refused %s", async (_, code) => {
    const folder = project({
      "secret.json": JSON.stringify(SECRET),
      "secret.txt": SECRET,
      "secret.css": `@import "${SECRET}";`,
      "tsconfig.json": `{ "${SECRET}": `,
      "package.json": `{ "${SECRET}": `,
    });
    const exited = await folder.run(`${code}\nglobalThis.result = typeof x === "undefined" ? 0 : x;`);
    expect(exited.code).toBe(1);
    expect(exited.envelope.result).toMatchObject({ ok: false });
    expect(exited.stdout + exited.stderr).not.toMatch(/root:x?:0|root-of-the-host-file|"license"/);
  });

  test("is told what it can import instead", async () => {
    const { envelope } = await project().run('import x from "lodash"; x();');
    expect(envelope.result).toMatchObject({
      error: {
        type: "BundleError",
        message: expect.stringMatching(/'lodash' cannot be imported: .*built-in/),
      },
    });
  });

  test.each([
    ["a source map", "//# sourceMappingURL=/etc/passwd"],
    ["a relative source map", "//# sourceMappingURL=secret.json"],
    ["a JSX pragma", "/** @jsxImportSource /etc */"],
    ["a type reference", '/// <reference path="/etc/passwd" />'],
  ])("reads no file for %s", async (_, comment) => {
    const folder = project({ "secret.json": JSON.stringify(SECRET) });
    const exited = await folder.run(`${comment}\nthrow new Error("x");\n${comment}`);
    expect(exited.envelope.result).toMatchObject({ error: { type: "ScriptError" } });
    expect(exited.stdout + exited.stderr).not.toMatch(/root:x?:0|root-of-the-host-file/);
  });

  test("can import what Node.js brings, with and without its prefix", async () => {
    const { envelope } = await project().run(
      'import { join } from "node:path"; import { createHash } from "crypto"; globalThis.result = [join("a", "b"), typeof createHash];',
    );
    expect(envelope.result).toMatchObject({ ok: true, data: ["a/b", "function"] });
  });
});
