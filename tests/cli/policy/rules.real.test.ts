import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, expect, test } from "vitest";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { fixtureServer, type Project, usePtc } from "../ptc-process.ts";

const RULES = `permit (principal, action, resource);

@id("locked") @reason("this document is not to be locked")
forbid (principal, action == Action::"call", resource == Tool::"mcp__vault__lock_document")
when { context.arguments.hasTag("documentId") && context.arguments.getTag("documentId") == "a" };

@id("b-is-private")
forbid (principal, action == Action::"read", resource in Server::"notes")
when { context.arguments.hasTag("uri") && context.arguments.getTag("uri") == "mem://b" };

@id("no-prompts")
forbid (principal, action, resource == Tool::"mcp__notes__prompts/get");

@ask("is it meant after the vault was read?")
forbid (principal, action == Action::"call", resource in Server::"acts")
when { context.run.labels.contains("secret") };
`;

/** Comes to each of the rules, and says what it was told. */
const PROGRAM = `import * as vault from "./servers/vault/index.js";
import * as web from "./servers/web/index.js";
import * as notes from "./servers/notes/index.js";
import * as acts from "./servers/acts/index.js";
const why = (error: { message: string }) => error.message;
await web.echo({ text: "nothing was read yet" });
const before = await acts.act({});
await vault.getDocument({ documentId: "a" });
const asked = await acts.act({});
globalThis.result = {
  before, asked,
  rule: await vault.lockDocument({ documentId: "a" }).catch(why),
  label: await web.echo({ text: "of the vault" }).catch(why),
  read: (await notes.resources.read("mem://a")).contents.length,
  unread: await notes.resources.read("mem://b").catch(why),
  hidden: await callTool(["mcp__notes__prompts", "get"].join("/"), { name: "p" }).catch(why),
};`;

describeSandboxed("rules, labels and a strict audit, for a program in its sandbox and a client", () => {
  const newProject = usePtc();
  let project: Project;
  const calls = () => readFileSync(join(project.directory, "calls"), "utf8").trimEnd().split("\n");

  beforeAll(async () => {
    project = newProject();
    const { directory } = project;
    project.write("rules.cedar", RULES);
    project.write("ptc.yaml", {
      servers: [
        { ...fixtureServer("vault", "documents.mjs"), labels: ["secret"] },
        { ...fixtureServer("web", "echo-v1.mjs"), accepts: [] },
        fixtureServer("notes", "resources.mjs"),
        fixtureServer("acts", "reads-audit.mjs", [
          join(directory, ".ptc/audit.jsonl"),
          join(directory, "calls"),
        ]),
      ],
      policy: ["rules.cedar"],
      audit: "strict",
      sandbox: { warm: 1 },
      host: "off",
    });
    await project.generate();
  });

  test("each decides, says why, and is in the record and in the log", async () => {
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params.message);
      return { action: "accept", content: {} };
    });
    await project.serve({ client });
    const found = await client.callTool({ name: "list_callable_tools", arguments: { server: "notes" } });
    expect(JSON.stringify(found.content)).toContain("mcp__notes__resources/read");
    expect(JSON.stringify(found.content)).not.toContain("prompts/get");
    const reply = await client.callTool({ name: "execute_program", arguments: { code: PROGRAM } });
    expect(reply.content).toMatchObject([
      { text: expect.stringContaining("[Script executed successfully]") },
      { text: expect.stringContaining("You were shown 'secret' data of mcp__vault__get_document") },
    ]);
    const envelope = reply._meta?.["ptc/envelope"] as { run_id: string; result: unknown };
    expect(envelope).toMatchObject({
      approval_state: "APPROVED",
      result: {
        ok: true,
        data: {
          // Its server saw the line of the very call when the call came.
          before: { event: "calling", tool: "mcp__acts__act", call: 2, decision: "allowed" },
          asked: { event: "calling", tool: "mcp__acts__act", call: 4, decision: "approved-once" },
          rule: "'mcp__vault__lock_document' was not called: it is forbidden by rule locked (rules.cedar:3): this document is not to be locked",
          label:
            "'mcp__web__echo' was not called: it does not accept 'secret' data, which this run carries since it read mcp__vault__get_document (call 3); tell the user what it was for, who decides about it",
          read: 1,
          unread:
            "'mcp__notes__resources/read' was not called: it is forbidden by rule b-is-private (rules.cedar:7)",
          hidden: "'mcp__notes__prompts/get' is not available in execute_program",
        },
      },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(
      "Asked because it needs an approval by rule rules.cedar:14: is it meant after the vault was read?; this run has read mcp__vault__get_document (call 3)",
    );
    await client.close();

    const explained = await project.ptc(["policy", "explain", envelope.run_id, "--json"]);
    expect(JSON.parse(explained.stdout).calls.map((call: { rule: string }) => call.rule)).toEqual([
      "rules.cedar:1",
      "rules.cedar:1",
      "rules.cedar:1",
      "rules.cedar:14",
      "locked (rules.cedar:3)",
      "accepts: server 'web'",
      "rules.cedar:1",
      "b-is-private (rules.cedar:7)",
      "no-prompts (rules.cedar:11)",
    ]);
    const audited = await project.ptc(["audit", "--run", envelope.run_id, "--event", "approval", "--json"]);
    expect(JSON.parse(audited.stdout)).toMatchObject({ tool: "mcp__acts__act", decision: "approved" });
    expect(await project.ptc(["audit", "verify"])).toMatchObject({ code: 0 });
  });

  test("what cannot be written down first is not called, unless its tool says that it only reads", async () => {
    const made = calls().length;
    const log = join(project.directory, ".ptc/audit.jsonl");
    rmSync(log);
    mkdirSync(log);
    const code = `globalThis.result = [
      await mcp__acts__act({}).catch((error) => error.message),
      await mcp__acts__look({}).catch(() => "its log is no file"),
    ];`;
    const { envelope } = await project.run(code);
    expect(envelope.result).toMatchObject({
      data: [
        expect.stringMatching(
          /^'mcp__acts__act' was not called: ptc.yaml has `audit: strict`, and the audit log cannot be written: /,
        ),
        "its log is no file",
      ],
    });
    expect(calls().slice(made)).toEqual(["look"]);
  });
});
