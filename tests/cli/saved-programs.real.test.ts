import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

const REPORT = `// Revenues of the last quarters of a company
import { queryFinancials } from "./servers/financial_data/index.js";
const { ticker, quarters } = data;
const rows = await queryFinancials({ ticker, statement: "income", period: "quarter", limit: quarters });
console.log("read", rows.length);
globalThis.result = { ticker, revenues: rows.map((row) => row.revenue) };
`;

const CALLER = `import { quarterlyReport } from "./programs/index.js";
const reports = await parallel(["AMZN", "MSFT"].map((ticker) => () => quarterlyReport({ ticker, quarters: 1 })));
const wrong = await mcp__programs__quarterly_report.result({ ticker: 1 } as any);
globalThis.result = { reports, wrong: wrong.error?.message };
`;

const PYTHON = `"""Counts quarters"""
from servers.financial_data import query_financials
result = {"rows": len(query_financials(ticker=data["ticker"], statement="income", period="quarter", limit=4))}
`;

const CLEAN_UP = `import { deleteDocument, getDocument } from "./servers/docs/index.js";
const { title } = await getDocument({ documentId: data.id });
globalThis.result = { title, gone: await deleteDocument({ documentId: data.id }) };
`;

const WIPE = `from programs import clean
result = [clean(id=each) for each in data["ids"]]
`;

const CLEAN = `from servers.docs import delete_document, get_document
first = get_document(documentId=data["id"])
result = {"title": first["title"], "gone": delete_document(documentId=data["id"])}
`;

const manifest = (program: string, of: string, type: string) =>
  `version: 1\ndescription: Deletes\nprogram: ${program}\ninput: { properties: { ${of}: { type: ${type} } }, required: [${of}] }\n`;

describeSandboxed("saved programs", () => {
  it("are saved of runs, run by name, called, exposed, replayed and tested; policy sees them and their calls", async () => {
    const project = newProject({
      "ptc.yaml": {
        languages: ["typescript", "python"],
        servers: [fixtureServer("financial-data", "finance.mjs")],
        approvals: { ask: ["mcp__programs__row_count"] },
      },
      "report.ts": REPORT,
      "caller.ts": CALLER,
      "count.py": PYTHON,
    });
    await project.generate();
    const ran = envelopeOf(
      await project.ptc(["run", "report.ts", "--data", '{"ticker":"AMZN","quarters":2}']),
    );
    const saved = await project.ptc(["save", ran.run_id, "--name", "quarterly-report", "--expose"]);
    expect(saved).toMatchObject({ code: 0, stderr: "" });
    expect(project.read("programs/quarterly-report.yaml")).toContain("quarters:\n      type: integer");
    const again = await project.ptc(["save", ran.run_id, "--name", "quarterly-report"]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("--force replaces it") });

    const help = await project.ptc(["run", "quarterly-report", "--help"]);
    expect(help.stdout).toMatch(
      /--ticker TEXT +required, a text\n +--quarters NUMBER +required, a whole number/,
    );
    const wrong = await project.ptc(["run", "quarterly-report", "--ticker", "AMZN", "--quarters", "two"]);
    expect(wrong).toMatchObject({ code: 2, stderr: "ptc: quarters=two: must be a whole number\n" });
    const byName = await project.ptc(["run", "quarterly-report", "--ticker", "MSFT", "--quarters", "1"]);
    const envelope = envelopeOf(byName);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: { ticker: "MSFT", revenues: [expect.anything()] },
    });

    const called = envelopeOf(await project.ptc(["run", "caller.ts"]));
    expect(called.result).toMatchObject({
      ok: true,
      data: {
        reports: [{ ticker: "AMZN" }, { ticker: "MSFT" }],
        wrong: expect.stringContaining("'mcp__programs__quarterly_report' was not called: arguments"),
      },
    });
    const audited = project
      .read(".ptc/audit.jsonl")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const tools = audited.filter(({ event, run_id }) => event === "call" && run_id === called.run_id);
    expect(tools.map(({ tool, decision }) => `${tool} ${decision}`).sort()).toEqual([
      "mcp__financial_data__query_financials allowed",
      "mcp__financial_data__query_financials allowed",
      "mcp__programs__quarterly_report allowed",
      "mcp__programs__quarterly_report allowed",
      "mcp__programs__quarterly_report invalid",
    ]);

    const counted = envelopeOf(await project.ptc(["run", "count.py", "--data", '{"ticker":"AMZN"}']));
    expect((await project.ptc(["save", counted.run_id, "--name", "row-count"])).code).toBe(0);
    const denied = envelopeOf(await project.ptc(["run", "row-count", "--ticker", "AMZN"]));
    expect(denied.result).toMatchObject({ ok: false, error: { type: "ApprovalDenied" } });
    const approved = await project.ptc([
      ...["run", "row-count", "--ticker", "AMZN", "--approve", "mcp__programs__row_count"],
    ]);
    expect(envelopeOf(approved).result).toMatchObject({ ok: true, data: { rows: 4 } });

    const { client } = await project.serve();
    const exposed = (await client.listTools()).tools.filter(({ name }) => /report|count/.test(name));
    expect(exposed).toMatchObject([
      { name: "quarterly_report", inputSchema: { required: ["ticker", "quarters"] } },
    ]);
    const reply = await client.callTool({
      name: "quarterly_report",
      arguments: { ticker: "GOOG", quarters: 1 },
    });
    expect(reply.structuredContent).toMatchObject({ ticker: "GOOG", revenues: [expect.anything()] });
    const refused = await client.callTool({ name: "quarterly_report", arguments: { ticker: "GOOG" } });
    expect(refused).toMatchObject({ isError: true });
    await client.close();

    const same = await project.ptc(["test"]);
    expect(same).toMatchObject({ code: 0, stdout: expect.stringContaining("2 programs: 2 the same") });
    project.write("programs/quarterly-report.ts", REPORT.replace("limit: quarters", "limit: quarters + 1"));
    const changed = await project.ptc(["test"]);
    expect(changed.code).toBe(4);
    expect(changed.stdout).toMatch(
      /- mcp__financial_data__query_financials\(.*"limit":2.*\n.*\+ mcp__.*"limit":3/,
    );
    project.write("programs/quarterly-report.ts", REPORT.replace("queryFinancials }", "queryFinance }"));
    expect((await project.ptc(["test", "quarterly-report"])).code).toBe(1);
    // What ran then is in the record, whatever the file says now.
    expect((await project.ptc(["replay", called.run_id])).stderr).toContain("same: 5 calls");
    expect(readdirSync(join(project.directory, "programs")).filter((file) => file.endsWith(".tmp"))).toEqual(
      [],
    );
  });

  it("wait for a person in the middle of a nested call, go on, and are replayed, in both languages", async () => {
    const languages = ["typescript", "python"];
    const servers = [fixtureServer("docs", "documents.mjs")];
    const project = newProject({ "ptc.yaml": { languages, servers } });
    mkdirSync(join(project.directory, "programs"));
    const output = "output: { properties: { gone: { const: deleted A } } }\n";
    project.write("programs/clean-up.ts", CLEAN_UP);
    project.write("programs/clean-up.yaml", manifest("clean-up.ts", "id", "string") + output);
    project.write("programs/clean.py", CLEAN);
    project.write("programs/clean.yaml", manifest("clean.py", "id", "string") + output);
    project.write("programs/wipe.py", WIPE);
    project.write("programs/wipe.yaml", manifest("wipe.py", "ids", "array"));
    await project.generate();
    const done = { title: "Document A", gone: "deleted A" };
    const cases = [
      { run: ["clean-up", "--id", "A"], value: done, calls: 3 },
      { run: ["wipe", "--ids", "A"], value: [done], calls: 4 },
    ];
    const env = { XDG_STATE_HOME: join(project.directory, "state") };
    const ptc = (...args: string[]) => project.ptc(args, { env });
    for (const { run, value, calls } of cases) {
      const waits = envelopeOf(await ptc("run", ...run, "--suspend")).result;
      const ticket = /approve ([0-9a-f]{16})/.exec(waits.ok ? "" : waits.error.message)?.[1] ?? "";
      expect(waits).toMatchObject({ ok: false, error: { type: "ApprovalPending" } });
      expect((await ptc("approvals", "approve", ticket)).code).toBe(0);
      const ended = envelopeOf(await ptc("run", "--ticket", ticket));
      expect(ended.result).toMatchObject({ ok: true, data: value, metrics: { tool_calls: calls } });
      expect((await ptc("replay", ended.run_id)).stderr).toContain(`same: ${calls} calls`);
    }
    const approved = ["--approve", "mcp__docs__*"];
    const other = envelopeOf(await ptc("run", "wipe", "--ids", "B", ...approved));
    const said =
      "'mcp__programs__clean' gave a value that its own output schema does not allow: value.gone must be";
    expect(other.result).toMatchObject({
      error: { type: "ToolError", message: expect.stringContaining(said) },
    });
    expect((await ptc("replay", other.run_id)).stderr).toContain("same: 4 calls");
  });
});
