import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { decodeFile } from "../../../../base/file-text.ts";
import { expectRefusal, ptcIn, userProject } from "../../in-process.ts";

/** Imports a client's file in a pipe. */
async function importOf(content: object | string, file = "mcp.json", others: Record<string, object> = {}) {
  const texts = Object.entries({ [file]: content, ...others }).map(([name, given]) => [
    name,
    typeof given === "string" ? given : JSON.stringify(given),
  ]);
  const project = userProject(Object.fromEntries(texts));
  const { code, stderr } = await project.ptc("init", "--import", file);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const text = project.read("ptc.yaml");
  return { stderr, text, settings: parse(text) };
}

const SECRET = "4f9d8e7a6b5c";

it("no secret of a client's file is in ptc.yaml, and what to set is said", async () => {
  const docker = { command: "docker", args: ["run", "-e", `NOTES_API_KEY=${SECRET}`, "img"] };
  const remote = { url: `https://x.example/mcp?api_key=${SECRET}`, headers: { "X-Token": SECRET } };
  const one = { command: "x", env: { API_KEY: "first-key-1" } };
  const other = { command: "x", env: { API_KEY: "other-key-2" } };
  const { text, settings, stderr } = await importOf({ mcpServers: { notes: docker, remote, one, other } });
  expect(text + stderr).not.toMatch(/4f9d8e|first-key|other-key/);
  expect(settings.servers).toMatchObject([
    { args: ["run", "-e", "NOTES_API_KEY=${NOTES_API_KEY}", "img"] },
    { url: "https://x.example/mcp?api_key=${REMOTE_API_KEY}", headers: { "X-Token": "${REMOTE_X_TOKEN}" } },
    { env: { API_KEY: "${API_KEY}" } },
    { env: { API_KEY: "${OTHER_API_KEY}" } },
  ]);
  expect(stderr.match(/set [A-Z_]+$/gm)).toEqual([
    "set NOTES_API_KEY",
    "set REMOTE_API_KEY",
    "set REMOTE_X_TOKEN",
    "set API_KEY",
    "set OTHER_API_KEY",
  ]);
});

describe("what a client says of tools", () => {
  it("is in ptc.yaml, and what is not taken over is said", async () => {
    const file = '[mcp_servers.notes]\ncommand = "x"\ndisabled_tools = ["purge"]\nfoo_policy = "strict"\n';
    const { settings, stderr } = await importOf(file, "config.toml");
    expect(settings.tools).toEqual({ block: ["mcp__notes__purge"] });
    expect(stderr).toContain("ptc: warning: server 'notes': its foo_policy is not taken over: ");
    expect(stderr).toContain("is tools.block in ptc.yaml now");
  });

  it("is said where a server is blocked whole, because its list fits no other", async () => {
    const { settings, stderr } = await importOf({
      mcpServers: {
        a: { command: "x", includeTools: ["read"] },
        b: { command: "x", excludeTools: ["purge"] },
      },
    });
    expect(settings.tools).toEqual({ allow: ["mcp__a__read", "mcp__programs__*"] });
    expect(stderr).toMatch(/warning: server 'b': all of its tools are blocked, .* all but purge\n/);
  });

  it("counts for Claude Code from its settings too", async () => {
    const deny = { permissions: { deny: ["mcp__hub__drop"] }, disabledMcpjsonServers: ["off"] };
    const { settings, stderr } = await importOf(
      { mcpServers: { hub: { command: "x" }, off: { command: "y" } } },
      ".mcp.json",
      { ".claude/settings.json": deny },
    );
    expect(settings.tools).toEqual({ block: ["mcp__hub__drop"] });
    expect(stderr).toContain("server 'off' was left out: it is disabled there");
  });
});

it.each([
  ["UTF-8 with a mark", (text: string) => Buffer.from(`\ufeff${text}`, "utf8")],
  ["UTF-16 of PowerShell 5", (text: string) => Buffer.from(`\ufeff${text}`, "utf16le")],
  ["UTF-16, the other way", (text: string) => Buffer.from(`\ufeff${text}`, "utf16le").swap16()],
])("a client's file, a file of variables and ptc.yaml may be in %s", async (_, encode) => {
  const { folder, ptc, read } = userProject();
  const servers = { a: { command: "x", envFile: "vars.env" } };
  writeFileSync(join(folder, "mcp.json"), encode(JSON.stringify({ servers })));
  writeFileSync(join(folder, "vars.env"), encode("MODE=fast\n"));
  expect(await ptc("init", "--import", "mcp.json")).toMatchObject({ code: 0 });
  expect(parse(read("ptc.yaml")).servers[0].env).toEqual({ MODE: "fast" });
  writeFileSync(join(folder, "ptc.yaml"), encode(read("ptc.yaml")));
  expect(await ptc("list")).toMatchObject({ code: 0 });
  writeFileSync(join(folder, "ptc.yaml"), encode("# mine\n"));
  await ptc("add", "b", "--force", "--", "/nowhere/b");
  const after = readFileSync(join(folder, "ptc.yaml"));
  expect(after.subarray(0, 2)).toEqual(encode("").subarray(0, 2));
  expect(decodeFile(after)).toMatch(/^# mine\n[\s\S]*command: \/nowhere\/b/);
});

it("a client's file that was pasted into ptc.yaml is named as one", async () => {
  const { ptc } = userProject({ "ptc.yaml": '{"mcpServers": {"a": {"command": "x"}}}' });
  expectRefusal(
    await ptc("list"),
    "ptc.yaml:1: mcpServers: is what clients call their servers; move it to a file of its own, such as mcp.json, remove this one, and run `ptc init --import mcp.json`",
  );
});

it("ptc add writes no secret of arguments into ptc.yaml, and says what to set", async () => {
  const { ptc, read } = userProject({ "ptc.yaml": "" });
  const { stdout, stderr } = await ptc("add", "notes", "--force", "--", "/nowhere/x", "--api-key", SECRET);
  expect(read("ptc.yaml")).toContain("${NOTES_API_KEY}");
  expect(read("ptc.yaml") + stdout + stderr).not.toContain(SECRET);
  expect(stderr).toContain("set NOTES_API_KEY where ptc is started");
});

describe("in a folder below a ptc.yaml", () => {
  function below() {
    const { folder, home, env } = userProject({
      "ptc.yaml": "servers: []\n",
      ".git/HEAD": "",
      "sub/deep/x.txt": "",
    });
    const sub = join(folder, "sub/deep");
    return { folder, home, sub, ptc: (...args: string[]) => ptcIn(sub, args, { env }) };
  }

  it("that one is used, and named once on stderr", async () => {
    const { folder, sub, ptc } = below();
    const { code, stdout, stderr } = await ptc("list", "--json");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringContaining("using") });
    expect(stderr).toBe("ptc: using ../../ptc.yaml\n");
    expect(await ptc("list", "--config", "../../ptc.yaml")).toMatchObject({ code: 0, stderr: "" });
    await ptc("add", "b", "--force", "--", "/nowhere/b");
    expect(readFileSync(join(folder, "ptc.yaml"), "utf8")).toContain("/nowhere/b");
    expect(existsSync(join(sub, "ptc.yaml"))).toBe(false);
    expect(existsSync(join(sub, ".ptc"))).toBe(false);
  });

  it("ptc install writes beside it, and undoes there", async () => {
    const { folder, sub, ptc } = below();
    expect(await ptc("install", "claude", "--yes")).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, ".mcp.json"), "utf8")).toContain("{CLAUDE_PROJECT_DIR:-.}/ptc.yaml");
    expect(existsSync(join(sub, ".mcp.json"))).toBe(false);
    expect(await ptc("install", "--undo", "--yes")).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, ".mcp.json"))).toBe(false);
  });

  it("ptc init says that it counted, and writes one", async () => {
    const { sub, ptc } = below();
    const { code, stderr } = await ptc("init");
    expect(code).toBe(0);
    expect(stderr).toBe(
      "ptc: ../../ptc.yaml counted in this folder so far; from now on ptc.yaml here does, with .ptc/ and generated/ of its own\n",
    );
    expect(existsSync(join(sub, "ptc.yaml"))).toBe(true);
  });
});
