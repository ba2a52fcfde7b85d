import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { expect, it } from "vitest";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

/** As it stands in a design of programmatic tool calling. */
const TRENDS = `
tickers = ["AMZN", "MSFT", "GOOG"]
for t in tickers:
    data = await mcp__financial_data__query_financials(
        ticker=t, statement="income", period="quarter", limit=4
    )
    revenues = [q["revenue"] for q in data]
    trend = " → ".join(f"\${r/1e9:.1f}B" for r in revenues)
    print(f"{t}: {trend}")
`;

/** As it stands in a runtime contract, with the two functions that it leaves to its reader. */
const FILTERING = `
def calculate_metrics(rows): return {"summary": sum(row["amount"] for row in rows)}
def detect_anomalies(rows): return [row for row in rows if row["amount"] > 10]

import asyncio
import json
import sys

import servers.sheets as sheets

async def main():
    rows = await sheets.get_all_rows({"sheetId": "quarterly"})
    print(f"Processing {len(rows)} rows…", file=sys.stderr)

    metrics = calculate_metrics(rows)
    anomalies = detect_anomalies(rows)

    global result
    result = {
        "summary": metrics["summary"],
        "anomaly_count": len(anomalies),
    }

asyncio.run(main())
`;

const SEVERAL_TIMES = `
import asyncio, random, time
from servers.financial_data import query_financials

async def revenue(ticker):
    await asyncio.sleep(random.random() / 50)
    rows = await query_financials(ticker=ticker, statement="income", period="year", limit=1)
    return rows[0]["revenue"]

done = []
for each in asyncio.as_completed([revenue(t) for t in ("AMZN", "MSFT", "GOOG")]):
    done.append(await each)
{"done": done, "at": time.time(), "dice": random.random()}
`;

async function run(client: Client, code: string, rest: object = {}) {
  const reply = await client.callTool({ name: "execute_program", arguments: { code, ...rest } });
  const [content] = reply.content as { text: string }[];
  const meta = reply._meta as { "ptc/envelope"?: { run_id: string } } | undefined;
  return { text: content?.text ?? "", isError: reply.isError === true, id: meta?.["ptc/envelope"]?.run_id };
}

it("programs in Python run as their sources have them, fail as the table of replies says, and replay", async () => {
  const project = newProject({
    "ptc.yaml": {
      languages: ["python", "typescript"],
      servers: [fixtureServer("financial-data", "finance.mjs"), fixtureServer("sheets", "finance.mjs")],
      tools: { block: ["mcp__sheets__delete_resource"] },
    },
  });
  await project.generate();
  const { client } = await project.serve();
  expect(await run(client, TRENDS)).toMatchObject({
    isError: false,
    text: `[Script executed successfully]
AMZN: $170.0B → $165.3B → $158.9B → $149.2B
MSFT: $65.6B → $62.0B → $59.1B → $56.5B
GOOG: $96.5B → $88.3B → $85.0B → $80.5B`,
  });
  expect((await run(client, FILTERING)).text).toContain(
    '[Script executed successfully]\n{"summary":33,"anomaly_count":1}',
  );
  expect((await run(client, "x = 1")).text).toBe("[Script executed successfully]\n(no output)");
  // The client says nothing of a language, and the first is another one.
  expect((await run(client, "const x: number = 2;\nconsole.log(x + 1);")).text).toBe(
    "[Script executed successfully]\n3",
  );

  const failed =
    'rows = mcp__financial_data__query_financials(\n  ticker="NONE", statement="income", period="year", limit=1)';
  expect((await run(client, failed)).text).toMatch(
    /^\[Script execution failed\]\nTraceback \(most recent call last\):\n {2}File "program\.py", line 1, in <module>\n[\s\S]*\nToolError: 'mcp__financial_data__query_financials' failed: connection refused/,
  );
  const forbidden = 'mcp__sheets__delete_resource(id="a")';
  // The check before the run finds it too, in time or not.
  expect((await run(client, forbidden)).text).toContain(
    "'mcp__sheets__delete_resource' is not available in execute_program",
  );
  expect((await run(client, forbidden, { typecheck: "off" })).text).toContain(
    "ToolError: 'mcp__sheets__delete_resource' is not available in execute_program",
  );
  expect((await run(client, "def f(x):\n    return 1 / x\n\nf(0)")).text).toBe(`[Script execution failed]
Traceback (most recent call last):
  File "program.py", line 4, in <module>
    f(0)
  File "program.py", line 2, in f
    return 1 / x
           ~~^~~
ZeroDivisionError: division by zero`);
  expect((await run(client, "while True: pass", { timeout_seconds: 1 })).text).toMatch(
    /^\[Script execution failed\]\nTimeoutError: Execution exceeded 1s limit/,
  );

  const several = await run(client, SEVERAL_TIMES, { language: "python" });
  expect(several).toMatchObject({ isError: false });
  // On a busy machine the client does not wait until it is archived.
  await expect.poll(async () => (await project.ptc(["runs", "show", several.id ?? ""])).code).toBe(0);
  await client.close();
  const replayed = await project.ptc(["replay", several.id ?? ""]);
  expect(replayed.stderr).toContain("same: 3 calls");
  project.write("sum.py", "print(sum(data['n']))");
  const alone = await project.ptc(["run", "sum.py", "--data", '{"n": [1, 2]}']);
  expect(envelopeOf(alone).result).toMatchObject({ ok: true, data: 3 });
});

it("is checked before it runs by a command that starts the checker itself, also on a busy machine", async () => {
  const project = newProject();
  project.write("ptc.yaml", {
    languages: ["python"],
    servers: [fixtureServer("financial-data", "finance.mjs")],
  });
  await project.generate();
  project.write("program.py", "await mcp__financial_data__query_financials(tickr='AMZN')");
  const busy = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
  );
  try {
    const { result } = envelopeOf(await project.ptc(["run", "program.py"]));
    expect(result).toMatchObject({ ok: false, error: { type: "TypeCheckError" } });
  } finally {
    for (const each of busy) each.kill("SIGKILL");
  }
});
