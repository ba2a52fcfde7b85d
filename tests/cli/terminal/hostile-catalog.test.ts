import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeGenerated } from "../../../catalog/store/write-generated.ts";
import { planGeneration } from "../../../generation/generate-plan.ts";
import { expectRefusal, ptcIn } from "../in-process.ts";

const CONTROLS = ["\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029", "\u001b[2J", "\u009b2J", "\u202e"];
const EVIL = `x${CONTROLS.join("y")}evil  Safe.`;
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

const folder = mkdtempSync(join(tmpdir(), "ptc-hostile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  writeFileSync(join(folder, "ptc.yaml"), "servers:\n  - { name: one, command: x }\n");
  const schema = {
    type: "object",
    title: EVIL,
    properties: { [EVIL]: { type: "string", enum: [EVIL], default: EVIL, description: EVIL } },
  };
  const plan = await planGeneration({
    listings: [
      {
        name: "one",
        implementation: { name: EVIL, version: EVIL },
        protocolVersion: EVIL,
        tools: [
          { name: EVIL, title: EVIL, description: EVIL, inputSchema: schema, outputSchema: schema },
          { name: "plain", description: "evil", inputSchema: { type: "object" } },
        ],
      },
    ],
    previous: undefined,
  });
  await writeGenerated(join(folder, "generated"), plan.files);
});

const ptc = (...args: string[]) => ptcIn(folder, args);

describe("a server that names and describes its tools with characters that steer a terminal", () => {
  it.each([
    [["list"], 3],
    [["search", "evil"], 3],
    [["list", "--json"], 1],
    [["search", "evil", "--json"], 1],
    [["inspect", "one.plain", "--json"], 1],
    [["measure", "--json"], 1],
  ])("adds no line to ptc %j", async (args, lines) => {
    const { code, stdout, stderr } = await ptc(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trimEnd().split("\n")).toHaveLength(lines);
    expect(stdout).not.toMatch(UNSEEN);
  });

  it.each([[["measure"]], [["inspect", `mcp__one__${EVIL}`]]])("is only seen by ptc %j", async (args) => {
    const { code, stdout, stderr } = await ptc(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).not.toMatch(UNSEEN);
  });

  it("is one line of JSON to inspect, the same as it was", async () => {
    const { stdout } = await ptc("inspect", `mcp__one__${EVIL}`, "--json");
    expect(stdout).toMatch(/^[^\n]+\n$/);
    expect(stdout).not.toMatch(UNSEEN);
    expect(JSON.parse(stdout)).toMatchObject({ name: `mcp__one__${EVIL}`, description: EVIL });
  });

  it("is one line of an error", async () => {
    for (const args of [
      ["inspect", `mcp__one__${EVIL}z`],
      ["list", EVIL],
      ["search", "x", "--server", EVIL],
    ]) {
      const refused = await ptc(...args);
      expectRefusal(refused, /^ptc: /);
      expect(refused.stderr).not.toMatch(UNSEEN);
    }
  });
});

describe("ptc init --import of a file that somebody sent", () => {
  const imported = async (content: string) => {
    rmSync(join(folder, "ptc.yaml"), { force: true });
    writeFileSync(join(folder, "sent.json"), content);
    return ptc("init", "--import", "sent.json");
  };

  it("shows names and reasons in a line each, and leaves out what could not be seen in the new file", async () => {
    const { code, stderr } = await imported(
      JSON.stringify({
        mcpServers: {
          [EVIL]: { type: EVIL, command: "x" },
          hidden: { command: `x${EVIL}` },
          argument: { command: "x", args: ["--safe", "\u202eexe"] },
          variable: { command: "x", env: { "A\nB": "1" } },
          lines: { command: "sh", args: ["-c", "echo 1\n  - name: forged\n    command: y"] },
        },
      }),
    );
    expect(code).toBe(0);
    expect(stderr).not.toMatch(UNSEEN);
    const lines = stderr.trimEnd().split("\n");
    const names = lines.map((line) => /^ptc: warning: server '(\w+)/.exec(line)?.[1]);
    expect(names).toEqual(["x", "hidden", "argument", "variable", undefined]);
    expect(lines.at(-1)).toMatch(/^ptc: this client still has lines beside ptc: /);
    const { stdout } = await ptc("list", "--json");
    expect(stdout).toBe("[]\n");
    const written = readFileSync(join(folder, "ptc.yaml"), "utf8");
    expect(written.match(/^\s*- name:/gm)).toHaveLength(1);
  });

  it.each([
    ["{", "is not JSON"],
    ['{"mcpServers":{},"mcpServers":{}}', 'has the key "mcpServers" twice'],
    ['{"mcpServers":{"a":{"command":"x","n":1e400}}}', "holds a number beyond"],
    ["[".repeat(1_000) + "]".repeat(1_000), "nests deeper"],
  ])("says in one line what is wrong with it: %.30s", async (content, why) => {
    const refused = await imported(content);
    expectRefusal(refused, "ptc: sent.json: ");
    expect(refused.stderr).toContain(why);
  });
});
