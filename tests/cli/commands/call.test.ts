import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Envelope } from "../../../protocol/envelope.ts";
import { completion, scriptedModel } from "../../upstream/model/scripted-model.ts";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const DOCS = fixtureServer("docs", "documents.mjs");

describe("ptc call", () => {
  it("is the same as a process of its own, and its envelope is that of a run", async () => {
    const { project, env, generate } = projectInProcess({ servers: [DOCS] });
    await generate();
    const call = ["call", "docs.get_document", "--json", "@-", "--envelope"];
    const { code, stdout, stderr } = await project.ptc(call, { env, stdin: '{"documentId": "7"}' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(Envelope.parse(JSON.parse(stdout)).result).toMatchObject({ ok: true, data: { words: 3 } });
  });

  it("goes through the checks of others, which refuse it and replace its answer", async () => {
    const script = `
      let text = "";
      process.stdin.on("data", (part) => (text += part)).on("end", () => {
        const { type, data } = JSON.parse(text);
        if (type === "result") console.log('{"decision":"replace","data":{"masked":true}}');
        else console.log(data.arguments.documentId === "9" ? '{"decision":"deny","reason":"never nine"}' : '{"decision":"allow"}');
      });`;
    const interceptors = [
      {
        name: "dlp",
        on: ["call", "result"],
        command: [process.execPath, "-e", script],
        timeout_seconds: 60,
      },
    ];
    const { ptc, generate } = projectInProcess({ servers: [DOCS], interceptors });
    await generate();
    const refused = await ptc(["call", "docs.get_document", "documentId=9"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("interceptors.dlp refuses it: never nine");
    const { code, stdout } = await ptc(["call", "docs.get_document", "documentId=7", "--envelope"]);
    expect(code).toBe(0);
    expect(Envelope.parse(JSON.parse(stdout)).result).toMatchObject({ ok: true, data: { masked: true } });
  });

  it("goes through policy and approval, and is audited and archived without secrets, whatever becomes of it", async () => {
    const servers = [DOCS, { ...fixtureServer("dump", "env-dump.mjs"), env: { TOKEN: { keyring: "hub" } } }];
    const policy = { tools: { block: ["mcp__docs__list_documents"] }, audit: "strict" };
    const { project, ptc, generate, auditLines } = projectInProcess({ servers, ...policy });
    await ptc(["auth", "set", "hub"], {}, "keyring-secret-1");
    await generate();
    const call = (args: string[]) => ptc(["call", ...args]);
    const outcomes: [string, number, string][] = [
      ["docs.lock_document documentId=a", 1, "failed: a is locked by somebody else"],
      ["docs.delete_document documentId=a", 1, "nobody can be asked here; run it on a terminal, where"],
      ["docs.delete_document documentId=a --approve *delete*", 0, ""],
      ["docs.list_documents", 1, "'mcp__docs__list_documents' is not available"],
      ["dump.go --json {}", 0, ""],
    ];
    for (const [args, code, message] of outcomes) {
      const exited = await call(args.split(" "));
      expect({ args, code: exited.code }).toEqual({ args, code });
      expect(exited.stderr).toContain(message);
      expect(exited.stdout).not.toContain("keyring-secret-1");
    }
    const runs: Record<string, string>[] = JSON.parse((await ptc(["runs", "list", "--json"])).stdout);
    expect(runs.map(({ status, source, calls }) => [status, source, calls])).toEqual([
      ["ok", "call", 1],
      ["ToolError", "call", 1],
      ["ok", "call", 1],
      ["ApprovalDenied", "call", 1],
      ["ToolError", "call", 1],
    ]);
    const shown = await ptc(["runs", "show", runs[3]?.run_id ?? ""]);
    expect(shown.stdout).toContain("by local through ptc call");
    expect(shown.stdout).toContain('globalThis.result = await callTool("mcp__docs__delete_document", data);');
    const dumped = await ptc(["runs", "show", runs[0]?.run_id ?? "", "--json"]);
    expect(dumped.stdout).toContain("[REDACTED]");
    expect(dumped.stdout).not.toContain("keyring-secret-1");
    const audit = auditLines();
    const called = audit.filter(({ event }) => event === "call");
    expect(called.map(({ tool, decision }) => [tool, decision])).toEqual([
      ["mcp__docs__lock_document", "allowed"],
      ["mcp__docs__delete_document", "denied"],
      ["mcp__docs__delete_document", "approved-once"],
      ["mcp__docs__list_documents", "unavailable"],
      ["mcp__dump__go", "allowed"],
    ]);
    // Calls that may have an effect are there before they go out, and those that did not go out are not.
    const effects = audit.filter(
      ({ tool, event }) => event === "calling" || (event !== "decision" && /lock|delete/.test(String(tool))),
    );
    expect(
      effects.map(({ event, tool, decision }) => [event, String(tool).split("__")[2], decision]),
    ).toEqual([
      ["calling", "lock_document", "allowed"],
      ["call", "lock_document", "allowed"],
      ["approval", "delete_document", "denied"],
      ["call", "delete_document", "denied"],
      ["approval", "delete_document", "approved"],
      ["calling", "delete_document", "approved-once"],
      ["call", "delete_document", "approved-once"],
      ["calling", "go", "allowed"],
    ]);
    expect((await ptc(["audit", "verify"])).stdout).toMatch(/^\d+ lines in 1 file are as they were written/);
    // Where a line cannot be written, nothing with an effect goes out.
    rmSync(join(project.directory, ".ptc/audit.jsonl"));
    mkdirSync(join(project.directory, ".ptc/audit.jsonl"));
    const kept = await call(["docs.lock_document", "documentId=a"]);
    expect(kept.code).toBe(1);
    expect(kept.stderr).toContain(
      "was not called: ptc.yaml has `audit: strict`, and the audit log cannot be written",
    );
    expect(kept.stderr).not.toContain("is locked by somebody else");
  });

  it.skipIf(!hasPython)(`asks on a terminal${WITHOUT_PYTHON}`, async () => {
    const { project, env, generate } = projectInProcess({ servers: [DOCS] });
    await generate();
    const question = "Allow mcp__docs__delete_document\\? .*: ";
    const screen = await onTerminal(
      project,
      [[question, "y\r"]],
      ["call", "docs.delete_document", "documentId=a"],
      env,
    );
    expect(screen).toContain("ptc asks: you want to call\n│ mcp__docs__delete_document\n");
    expect(screen).toMatch(/\ndeleted a\n$/);
  });
});

const KEY = "the-key-of-the-model";
const ARGUMENTS = JSON.stringify({ value: `Ada, ${KEY}`, schema: { type: "string" } });

describe("extract", () => {
  it("is a tool of ptc's own server where a model is configured: decided about, audited, archived, without its key", async () => {
    const model = await scriptedModel([completion({ value: `Ada ${KEY}` })]);
    const extract = { url: model.url, model: "small", key: KEY };
    const { project, ptc, call, generate, auditLines } = projectInProcess({ extract });
    await generate();
    expect((await ptc(["inspect", "mcp__ptc__extract"])).stdout).toContain("through a model");
    const answered = await call("ptc.extract", "--json", ARGUMENTS);
    expect(answered).toMatchObject({ code: 0, stdout: "Ada [REDACTED]\n" });
    expect(JSON.stringify(model.requests[0]?.body)).not.toContain(KEY);
    const [{ run_id: run }] = JSON.parse((await ptc(["runs", "list", "--json"])).stdout);
    const shown = await ptc(["runs", "show", run, "--json"]);
    expect(shown.stdout).toContain("Ada [REDACTED]");
    expect(shown.stdout).not.toContain(KEY);
    expect(auditLines().find(({ event }) => event === "call")).toMatchObject({
      server: "ptc",
      tool: "mcp__ptc__extract",
      decision: "allowed",
    });
    for (const policy of [
      { tools: { block: ["mcp__ptc__extract"] } },
      { approvals: { ask: ["mcp__ptc__*"] } },
    ]) {
      project.write("ptc.yaml", { extract, ...policy });
      expect(await call("ptc.extract", "--json", ARGUMENTS)).toMatchObject({ code: 1, stdout: "" });
    }
    expect(model.requests).toHaveLength(1);
    // Where no model is configured, there is nothing of it.
    project.write("ptc.yaml", {});
    expect((await call("ptc.extract", "--json", ARGUMENTS)).stderr).toContain(
      "there is no tool 'ptc.extract'",
    );
  });
});
