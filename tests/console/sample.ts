/** Runs, questions and lines as a team has them, for pages that somebody looks at. */
import type { SampleRun } from "../server/reports/sample-archive.ts";
import type { serveConsole } from "./served-console.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export const REPORT = `import * as docs from "./servers/docs/index.js";
import * as mail from "./servers/mail/index.js";

// The figures of the month, to those who asked for them.
const { content } = await docs.getDocument({ id: data.month });
const rows = content.split("\\n").filter((line) => line.startsWith("|"));
const total = rows.reduce((sum, row) => sum + Number(row.split("|")[2] ?? 0), 0);

for (const to of data.readers) {
  const subject = \`Figures of \${data.month}: \${total}\`;
  await mail.sendMessage({ to, subject, body: rows.join("\\n") });
}
globalThis.result = { total, sent: data.readers.length };
`;

const PROGRAMS: readonly SampleRun[] = [
  {
    code: REPORT,
    fileName: "report.ts",
    data: { month: "2026-10", readers: ["ada@example.com", "grace@example.com"] },
    user: "ada",
    tookMs: 2_140,
    consoleText: "42 rows\n",
    value: { total: 1_204, sent: 2 },
    calls: [
      {
        tool: "mcp__docs__get_document",
        from: 12,
        took: 480,
        bytes: 48_200,
        answer: { content: "| a | 4 |" },
      },
      ...[0, 1].map((i) => ({
        ...{ tool: "mcp__mail__send_message", from: 520 + 600 * i, took: 560, bytes: 120 },
        ...{ arguments: { to: "ada@example.com", subject: "Figures of 2026-09: 1180" }, answer: { id: i } },
        ...{ decision: "approved-once", approver: "ada" },
      })),
    ],
  },
  {
    code: "const { issues } = await github.listIssues({ state: 'open' });\nglobalThis.result = issues.length;\n",
    fileName: "open-issues.ts",
    tookMs: 640,
    value: 31,
    calls: [{ tool: "mcp__github__list_issues", from: 4, took: 600, bytes: 210_400 }],
  },
  {
    code: "const pages = await parallel(names.map((id) => () => docs.getDocument({ id })), { limit: 4 });\n",
    fileName: "words.ts",
    tookMs: 1_320,
    user: "grace",
    value: [{ page: "README", words: 1_840 }],
    calls: Array.from({ length: 12 }, (_, i) => ({
      ...{ tool: "mcp__docs__get_document", from: 40 * i, took: 220 + 17 * (i % 5), bytes: 9_000 + 700 * i },
      answer: { content: "text" },
    })),
  },
];

const FAILED: readonly SampleRun[] = [
  {
    code: REPORT,
    fileName: "report.ts",
    tookMs: 900,
    failure: { type: "ToolError", message: "mail.sendMessage: denied by ada\n    at report.ts:11:3" },
    calls: [
      { tool: "mcp__docs__get_document", from: 10, took: 500, bytes: 48_200, answer: { content: "" } },
      {
        tool: "mcp__mail__send_message",
        from: 520,
        took: 20,
        error: "denied",
        decision: "denied",
        approver: "ada",
      },
    ],
  },
  {
    code: "while (true) {}\n",
    fileName: "loop.ts",
    tookMs: 30_000,
    failure: { type: "Timeout", message: "the program took more than 30 s" },
  },
];

/** Fills a console with some weeks. */
export async function fill(
  { archived, ask, audit }: Awaited<ReturnType<typeof serveConsole>>,
  nowMs = Date.now(),
) {
  const ids: string[] = [];
  for (let day = 20; day >= 0; day--)
    for (let i = 0; i < 2 + ((day * 7) % 5); i++) {
      const sample = (day + i) % 6 === 0 ? FAILED[day % 2] : PROGRAMS[(day + i) % 3];
      const tookMs = (sample?.tookMs ?? 0) * (1 + ((day * 3 + i) % 4) / 5);
      const startedAt = Math.min(nowMs - 60_000, nowMs - day * DAY_MS - i * HOUR_MS);
      ids.push(await archived({ ...sample, tookMs: Math.round(tookMs), startedAt }));
    }
  await ask({
    ...{ ticket: "7f3a9c0e", code: REPORT, client: "claude-code" },
    request: {
      arguments: {
        to: "grace@example.com",
        subject: "Figures of 2026-10: 1204",
        body: "| October | 1204 |\n| September | 1180 |",
      },
    },
  });
  await ask({
    ...{ ticket: "b41d22aa", client: "cursor", fileName: "cleanup.ts" },
    code: "const { files } = await docs.listDocuments({ query: 'draft' });\nfor (const { id } of files) await docs.deleteDocument({ id });\n",
    request: {
      ...{ tool: "mcp__docs__delete_document", arguments: { id: "draft-17" }, argumentsDigest: "sha256:2" },
      ...{
        reason: "approvals.ask: mcp__docs__delete_*",
        origins: ["id: from mcp__docs__list_documents (call 1)"],
      },
      claims: {
        server: "docs",
        description: "Deletes a document for good.",
        annotations: { destructiveHint: true },
      },
    },
  });
  for (const [index, runId] of ids.slice(-12).entries()) {
    const run = {
      runId,
      traceId: "t",
      principal: "local",
      codeDigest: "sha256:c",
      client: { name: "claude-code" },
    };
    if (index % 3 === 0)
      audit.decision(run, {
        ...{ server: "mail", tool: "mcp__mail__send_message", argumentsDigest: "sha256:1" },
        ...{ decision: index % 2 === 0 ? "ask" : "deny", rule: "mail-asks", ruleKind: "cedar" },
      } as never);
    audit.run(run, {
      outcome: index % 5 === 0 ? "ToolError" : "ok",
      calls: 3,
      durationMs: 2_000,
      redactions: 0,
    });
  }
  await audit.close();
  return ids;
}
