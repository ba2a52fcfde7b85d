import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import type { NotifySettings } from "../../configuration/configuration.ts";
import { linesAround, type WaitingQuestion } from "../../notify/notice.ts";
import { Notifier } from "../../notify/notifier.ts";
import { newFolder } from "../temporary-folder.ts";
import { receive } from "./receiver.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const NONE: NotifySettings = { webhook: undefined, slack: undefined, command: undefined, afterMs: 0 };

const QUESTION: WaitingQuestion = {
  ticket: "3f9a2c",
  digest: `sha256:${"1".repeat(64)}`,
  request: {
    runId: "r1",
    tool: "mcp__docs__delete_page",
    definitionDigest: "d",
    arguments: { id: 7 },
    argumentsDigest: "a",
    reason: "rule 'tidy' asks",
  },
  context: { principal: "local", source: "serve" },
  program: { fileName: "program.ts", code: "const x = 1;\nawait deletePage({ id: 7 });" },
  expiresAt: Date.UTC(2030, 0, 1),
};

/** Tells of a question by these settings, and returns the warnings when everything is told. */
async function tell(settings: Partial<NotifySettings>, questions = [QUESTION]): Promise<string[]> {
  const warnings: string[] = [];
  const notifier = new Notifier({
    settings: () => ({ ...NONE, ...settings }),
    linkTo: (ticket) => `https://ptc.example.com/console/${ticket}`,
    readSecret: async (secret) => (typeof secret === "string" ? secret : ""),
    env: process.env,
    onWarning: (message) => void warnings.push(message),
    pausesMs: [1, 1],
  });
  for (const question of questions) notifier.tell(question);
  await notifier.close();
  return warnings;
}

describe("a webhook", () => {
  test("gets the question as Standard Webhooks signs it, which their own library verifies", async () => {
    const { url, received } = await receive();
    expect(await tell({ webhook: { url, secret: SECRET } })).toEqual([]);
    const [{ headers, body } = { headers: {}, body: "" }] = received;
    const verified = new Webhook(SECRET).verify(body, headers as Record<string, string>);
    expect(verified).toMatchObject({
      type: "approval.requested",
      data: {
        ticket: "3f9a2c",
        tool: "mcp__docs__delete_page",
        arguments: { id: 7 },
        reason: "rule 'tidy' asks",
        principal: "local",
        lines: [
          { line: 1, calls: false },
          { line: 2, calls: true },
        ],
        expires_at: "2030-01-01T00:00:00.000Z",
        link: "https://ptc.example.com/console/3f9a2c",
        command: "ptc approvals show 3f9a2c",
      },
    });
    expect(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>)).toThrow();
  });

  test("is tried again while it fails, with one id", async () => {
    const { url, received } = await receive(503, 429);
    expect(await tell({ webhook: { url, secret: SECRET } })).toEqual([]);
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });

  test.for<[string, number[], number, string]>([
    ["refuses it", [400], 1, "HTTP status 400"],
    ["sends it elsewhere", [302], 1, "HTTP status 302"],
    ["fails each time", [500, 500, 500], 3, "HTTP status 500"],
  ])("that %s is told in one line without its path", async ([, statuses, tries, why]) => {
    const { url, received } = await receive(...statuses);
    const [warning = "", ...more] = await tell({ webhook: { url, secret: SECRET } });
    expect(more).toEqual([]);
    expect(warning).toMatch(/^notify\.webhook: nobody was told of a question: .*`ptc approvals show 3f9a2c`/);
    expect(warning).toContain(why);
    expect(warning).not.toContain("secret-path");
    expect(received).toHaveLength(tries);
  });

  test.for<[string, Partial<{ url: string; secret: string }>, string]>([
    ["an address without TLS", { url: "http://hooks.example.com/x" }, "must be an https URL"],
    ["no address at all", { url: "secret" }, "must be an https URL"],
    ["a secret that is none", { secret: "whsec_c2hvcnQ=" }, "must be `whsec_`"],
  ])("with %s gets nothing", async ([, given, why]) => {
    const { url, received } = await receive();
    const [warning = ""] = await tell({ webhook: { url, secret: SECRET, ...given } });
    expect(warning).toContain(why);
    expect(received).toEqual([]);
  });
});

describe("a question", () => {
  test("is told once, while its run waits and when it is suspended", async () => {
    const { url, received } = await receive();
    const { expiresAt: _, ...live } = QUESTION;
    await tell({ webhook: { url, secret: SECRET } }, [{ ...live, expiresAt: undefined }, QUESTION]);
    expect(received.map(({ body }) => JSON.parse(body).data.expires_at)).toEqual([null]);
  });

  test("is told to nobody where nothing says whom, and where a variable is not set", async () => {
    expect(await tell({})).toEqual([]);
    const { url, received } = await receive();
    const off = "ptc.yaml:3: HOOK is not set";
    expect(await tell({ webhook: { url, secret: SECRET }, off })).toEqual([
      `notify: nobody was told of a question: ${off}`,
    ]);
    expect(received).toEqual([]);
  });
});

describe("a command", () => {
  test("gets the question on its standard input, and nothing of ptc's environment", async () => {
    const file = join(newFolder(), "told.json");
    const script = `let text = ""; for await (const chunk of process.stdin) text += chunk;
      require("node:fs").writeFileSync(${JSON.stringify(file)}, JSON.stringify({ told: JSON.parse(text), env: Object.keys(process.env) }));`;
    process.env.PTC_TEST_SECRET = "x";
    const warnings = await tell({ command: [process.execPath, "-e", `(async () => { ${script} })()`] });
    delete process.env.PTC_TEST_SECRET;
    expect(warnings).toEqual([]);
    const { told, env } = JSON.parse(readFileSync(file, "utf8"));
    expect(told).toMatchObject({ ticket: "3f9a2c", arguments: { id: 7 } });
    expect(env).toContain("PTC_TICKET");
    expect(env).not.toContain("PTC_TEST_SECRET");
  });

  test.for<[string, [string, ...string[]], string]>([
    ["fails", [process.execPath, "-e", "process.exit(3)"], "exit code 3"],
    ["is not there", ["/nowhere/at-all"], "ENOENT"],
  ])("that %s is told in one line", async ([, command, why]) => {
    const warnings = await tell({ command });
    expect(warnings).toEqual([expect.stringContaining(why)]);
  });
});

test.for<[string, string, number[], number | undefined]>([
  ["TypeScript", "1\n2\n3\n4\nawait deletePage({})\n6\n7\n8\n9", [2, 3, 4, 5, 6, 7, 8], 5],
  ["Python", "a\ndocs.delete_page(id=7)", [1, 2], 2],
  ["a name that is written out", 'x\ncall["y"]; mcp__docs__delete_page ({})', [1, 2], 2],
  ["nowhere to be found", "a\nb", [1, 2], undefined],
  ["only a word that is alike", "deletePages({})", [1], undefined],
])("the lines around a call: %s", ([, code, lines, calling]) => {
  const found = linesAround(code, "mcp__docs__delete_page");
  expect(found.map(({ line }) => line)).toEqual(lines);
  expect(found.find(({ calls }) => calls)?.line).toBe(calling);
});

test("a line that is very long is cut", () => {
  const [line] = linesAround("x".repeat(1_000), "mcp__docs__delete_page");
  expect(line?.text).toHaveLength(201);
});
