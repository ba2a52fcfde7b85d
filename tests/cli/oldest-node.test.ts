import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "acorn";
import { afterAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const ENTRY = readFileSync(join(ROOT, "cli/ptc.js"), "utf8");
const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  engines: { node: string };
};

const folder = mkdtempSync(join(tmpdir(), "ptc-entry-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
copyFileSync(join(ROOT, "cli/ptc.js"), join(folder, "ptc.js"));
writeFileSync(join(folder, "package.json"), '{"type":"module"}');

/** Starts the entry before some program, with a Node.js that says it is of another version. */
function start({
  version = process.versions.node,
  options = "",
  program = "console.log('started'); process.exit(0)",
}) {
  writeFileSync(join(folder, "start.js"), program);
  const claim = join(folder, "claim.cjs");
  writeFileSync(
    claim,
    `Object.defineProperty(process, "version", { value: "v${version}" });
Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`,
  );
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--require", claim, join(folder, "ptc.js")],
    {
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS: options },
    },
  );
  return { status, stdout, stderr };
}

describe("the entry of the `ptc` command", () => {
  it.each(["22.12.0", "20.19.0", "18.20.4", "10.24.1"])(
    "refuses Node.js %s in one line, and loads nothing",
    (version) => {
      expect(start({ version })).toEqual({
        status: 2,
        stdout: "",
        stderr: `ptc: needs Node.js 22.13 or newer, and this is v${version} (${process.execPath}): install a current one from https://nodejs.org/ and put it first on the PATH\n`,
      });
    },
  );

  it("refuses a Node.js that has no SQLite, whatever its version", () => {
    const { status, stdout, stderr } = start({ options: "--no-experimental-sqlite" });
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(
      /^ptc: needs Node\.js 22\.13 or newer, and this is v[\d.]+, without node:sqlite \(.*\n$/,
    );
  });

  it.each(["22.13.0", "23.4.0", "24.0.0", "100.0.0"])("starts ptc with Node.js %s", (version) => {
    expect(start({ version })).toEqual({ status: 0, stdout: "started\n", stderr: "" });
  });

  it("does not pass for done where ptc ends while it waits", () => {
    expect(start({ program: "await new Promise(() => {})" })).toMatchObject({ status: 13 });
  });

  it("can be read by versions from long before, as a script and as a module", () => {
    for (const sourceType of ["script", "module"] as const) {
      // All but the dynamic import is older.
      const { body } = parse(ENTRY, { ecmaVersion: 2020, sourceType, allowHashBang: true });
      expect(body.map(({ type }) => type)).toEqual(["ExpressionStatement"]);
      parse(ENTRY.replace("import(", "load("), { ecmaVersion: 2017, sourceType, allowHashBang: true });
    }
  });

  it("names the version that package.json names", () => {
    const [, oldest = ""] = /^\^(\d+\.\d+)\.0 \|\| >=\d+\.\d+\.0$/.exec(engines.node) ?? [];
    expect(ENTRY).toContain(`needs Node.js ${oldest} or newer`);
  });
});
