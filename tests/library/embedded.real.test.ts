import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { tool } from "../../library/ptc.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { newFolder } from "../temporary-folder.ts";
import { openPtc } from "./open.ts";

const GITHUB = join(import.meta.dirname, "../../node_modules/@octokit/openapi/generated/api.github.com.json");

const CODE = `import { reposGet } from "./servers/github/index.js";
import { lookup, rate, refund } from "./servers/functions/index.js";
const { stargazers_count } = await reposGet({ owner: "a", repo: "b" });
const { order } = await lookup({ customer: "ada" });
globalThis.result = await refund({ order, amount: stargazers_count * (await rate({})) });`;

describeSandboxed("ptc in somebody's agent", () => {
  test("has a program over three functions and GitHub's API approved, archived and replayed", async () => {
    const requests: (string | undefined)[] = [];
    const api = createServer((request, response) => {
      requests.push(request.url);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: 1, name: "b", stargazers_count: 7 }));
    });
    await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      api.closeAllConnections();
      api.close();
    });
    const base_url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const folder = newFolder();
    const config = join(folder, "ptc.yaml");
    writeFileSync(config, JSON.stringify({ servers: [{ name: "github", openapi: GITHUB, base_url }] }));
    const paid: number[] = [];
    const isRead = { readOnlyHint: true };
    const lookup = tool({
      description: "Finds the order of a customer",
      input: z.object({ customer: z.string() }),
      output: z.object({ order: z.number() }),
      annotations: isRead,
      execute: ({ customer }) => ({ order: customer.length }),
    });
    const rate = tool({
      description: "A star's worth",
      output: z.number(),
      annotations: isRead,
      execute: () => 2,
    });
    const refund = tool({
      description: "Pays an order back",
      input: z.object({ order: z.number(), amount: z.number() }),
      annotations: { destructiveHint: true },
      execute: ({ order, amount }) => {
        paid.push(amount);
        return `paid ${amount} for ${order}`;
      },
    });
    const ptc = await openPtc({ config, cwd: folder, tools: { lookup, rate, refund }, onWarning: () => {} });
    expect(ptc.instructions).toContain("github");
    const waits = await ptc.run(CODE);
    const [asked] = await ptc.approvals();
    expect(asked?.question).toMatchObject({
      tool: "mcp__functions__refund",
      arguments: { order: 3, amount: 14 },
    });
    expect(paid).toEqual([]);
    const run = await ptc.resume(waits.waiting?.ticket ?? "", { answer: { allow: true } });
    expect(run).toMatchObject({ ok: true, value: "paid 14 for 3" });
    expect({ paid, requests }).toEqual({ paid: [14], requests: ["/repos/a/b"] });
    expect(await ptc.replay(run.envelope.run_id)).toMatchObject({ same: true });
    expect({ paid, requests }).toEqual({ paid: [14], requests: ["/repos/a/b"] });
  });
});
