import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ApprovalRequest, RunApprovals, UNASKED } from "../../../broker/approvals/approvals.ts";
import { interceptQuestions } from "../../../broker/approvals/question-interceptors.ts";
import type { CallingRun, CallOutcome, RequestedCall } from "../../../broker/dispatcher.ts";
import type { InterceptorSettings } from "../../../configuration/configuration.ts";
import { Checks } from "../../../execution/checks/checks.ts";
import type { PolicyDecided } from "../../../protocol/call-decision.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { newFolder } from "../../temporary-folder.ts";

const KEY = Buffer.alloc(32, 5);
const SECRET = `whsec_${KEY.toString("base64")}`;
const OK: CallOutcome = { ok: true, data: { n: 1 }, raw: undefined, bytes: 7, decision: "allowed" };
const CALL: RequestedCall = { tool: "mcp__desk__send", arguments: { to: "ada", password: "hunter2@vault" } };

type Answer = (request: { type: string; data: Record<string, unknown> }, response: ServerResponse) => unknown;

/** A check at an address of this machine, which answers each request by a function. */
async function checkAt(answer: Answer) {
  const received: { headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    const said = await answer(JSON.parse(body), response);
    if (said !== undefined) response.end(typeof said === "string" ? said : JSON.stringify(said));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`;
  return { url, received };
}

const settings = (more: Partial<InterceptorSettings>): InterceptorSettings => ({
  ...{ name: "dlp", on: ["call", "result"], tools: [], secret: SECRET, url: undefined, command: undefined },
  ...{ cwd: newFolder(), timeoutMs: 30_000, failsOpen: false },
  ...more,
});

/** A check by a script of Node.js. */
const commandOf = (script: string, more: Partial<InterceptorSettings> = {}) =>
  settings({ command: [process.execPath, "-e", script], secret: undefined, ...more });

/** Makes calls under some checks. `made` has the calls that reach the broker, with why a person has to approve them. */
function under(checks: readonly InterceptorSettings[], outcome: CallOutcome = OK) {
  const redactor = new Redactor(["hunter2@vault"]);
  const asked = new Checks({
    ...{ settings: () => checks, redactor, env: { PATH: process.env.PATH } },
    readSecret: async (secret) => String(secret),
  });
  onTestFinished(() => asked.close());
  const made: { call: RequestedCall; asks: CallingRun["asks"] }[] = [];
  const noted: PolicyDecided[] = [];
  const abort = new AbortController();
  const make = (principal = "local", call = CALL) => {
    const context = { principal, source: "serve" } as const;
    const tool = { namespacedName: call.tool, server: "desk", name: "send" } as never;
    const tools = { get: (name: string) => (name.startsWith("mcp__desk__") ? tool : undefined) };
    const isVisible = () => call.tool !== "mcp__desk__hidden";
    const around = asked.forRun({ runId: "run-1", context, tools, isVisible });
    const approvals = new RunApprovals("run-1", { ask: async () => ({ decision: "denied", by: "nobody" }) });
    return around(async (each, { asks, isHidden }) => {
      if (isHidden !== true) made.push({ call: each, asks });
      return outcome;
    })(call, { approvals, signal: abort.signal, events: { onDecision: (each) => void noted.push(each) } });
  };
  return { make, made, noted, abort, checks: asked };
}

const messageIn = (outcome: CallOutcome) => (outcome.ok ? "" : outcome.error.message);

describe("a check of others", () => {
  it("is asked about a call and its result by signed requests, without secrets", async () => {
    const { url, received } = await checkAt(() => ({ decision: "allow" }));
    const { make, made, noted } = under([settings({ url })]);
    expect(await make()).toEqual(OK);
    expect(made).toHaveLength(1);
    expect(noted).toEqual([]);
    const [call, result] = received.map(({ body }) => JSON.parse(body));
    const data = {
      ...{ run_id: "run-1", principal: "local", groups: [], source: "serve", server: "desk" },
      ...{ tool: "mcp__desk__send", arguments: { to: "ada", password: "[REDACTED]" } },
    };
    expect(call).toEqual({ type: "call", timestamp: expect.any(String), data });
    expect(result).toMatchObject({ type: "result", data: { ...data, result: { ok: true, data: { n: 1 } } } });
    for (const { headers, body } of received) {
      const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
      const signature = createHmac("sha256", KEY).update(signed).digest("base64");
      expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
    }
  });

  it("denies a call, which is not made, and says why", async () => {
    const { url } = await checkAt(() => ({ decision: "deny", reason: "it holds\na customer's address" }));
    const { make, made, noted } = under([settings({ url })]);
    const outcome = await make();
    expect(made).toEqual([]);
    expect(outcome).toMatchObject({ ok: false, decision: "forbidden", rule: "interceptors.dlp" });
    expect(messageIn(outcome)).toMatch(
      /^'mcp__desk__send' was not called: interceptors\.dlp refuses it: it holds/,
    );
    expect(messageIn(outcome)).not.toContain("\n");
    expect(noted).toMatchObject([{ decision: "deny", rule: "interceptors.dlp", server: "desk" }]);
  });

  it("withholds a result, and says that the call was made", async () => {
    const { url } = await checkAt(({ type }) => ({
      decision: type === "call" ? "allow" : "deny",
      reason: "PII",
    }));
    const { make, made } = under([settings({ url })], { ...OK, raw: { content: [] } } as CallOutcome);
    const outcome = await make();
    expect(made).toHaveLength(1);
    expect(outcome).toMatchObject({ ok: false, decision: "allowed", bytes: 7 });
    expect(outcome).not.toHaveProperty("data");
    expect(outcome).not.toHaveProperty("raw");
    expect(messageIn(outcome)).toContain(
      "the call was made: 'mcp__desk__send' answered, and interceptors.dlp withholds",
    );
  });

  it("has a person asked, and puts other arguments and results in the place of what there was", async () => {
    const { url, received } = await checkAt(({ type }) =>
      type === "call"
        ? { decision: "replace", arguments: { to: "bob", n: 12345678901234567890n.toString() } }
        : { decision: "replace", data: { n: "***" }, reason: "masked" },
    );
    const second = await checkAt(() => ({ decision: "ask", reason: "a new address" }));
    const raw = { content: [{ type: "text", text: "1" }], structuredContent: { n: 1 } };
    const { make, made, noted } = under(
      [settings({ url }), settings({ name: "reviewer", on: ["call"], url: second.url })],
      { ...OK, raw } as CallOutcome,
    );
    const outcome = await make();
    expect(made).toEqual([
      {
        call: { tool: CALL.tool, arguments: { to: "bob", n: "12345678901234567890" }, rounded: undefined },
        asks: { rule: "interceptors.reviewer", reason: "a new address" },
      },
    ]);
    expect(JSON.parse(second.received[0]?.body ?? "")).toMatchObject({ data: { arguments: { to: "bob" } } });
    expect(JSON.parse(received[1]?.body ?? "")).toMatchObject({ data: { result: { answer: raw } } });
    expect(outcome).toMatchObject({ ok: true, data: { n: "***" }, rule: "interceptors.dlp" });
    // What a client gets in the server's own form holds no more than that.
    expect(outcome.raw).toEqual({
      content: [{ type: "text", text: '{"n":"***"}' }],
      structuredContent: { n: "***" },
    });
    expect(noted.map(({ decision }) => decision)).toEqual(["replace", "ask", "replace"]);
    const sent = digestOf({ to: "bob", n: "12345678901234567890" });
    expect(noted.map(({ argumentsDigest }) => argumentsDigest)).toEqual([sent, undefined, undefined]);
  });

  it.each([
    ["echoes", CALL, { to: "bob", password: "[REDACTED]" }],
    ["echoes in a name", CALL, { "[REDACTED]": 1 }],
    [
      "echoes beside the call's own",
      { ...CALL, arguments: { to: "[REDACTED]", password: "hunter2@vault" } },
      { to: "[REDACTED]", password: "[REDACTED]" },
    ],
  ])("has no mark sent in the place of a secret that it was not shown: %s", async (_, call, given) => {
    const { url } = await checkAt(() => ({ decision: "replace", arguments: given }));
    const { make, made, noted } = under([settings({ url, on: ["call"] })]);
    expect(messageIn(await make("local", call))).toContain("its answer has [REDACTED] in the place of");
    expect(made).toEqual([]);
    expect(noted).toMatchObject([{ decision: "deny" }]);
  });

  it("gives back marks that the program has sent", async () => {
    const { url } = await checkAt(() => ({ decision: "replace", arguments: { to: "[REDACTED]" } }));
    const { make, made } = under([settings({ url, on: ["call"] })]);
    await make("local", { tool: CALL.tool, arguments: { to: "[REDACTED]", cc: "eve" } });
    expect(made).toMatchObject([{ call: { arguments: { to: "[REDACTED]" } } }]);
  });

  it("sees failures that a server words, and none of calls that reached no server", async () => {
    const { url, received } = await checkAt(() => ({ decision: "replace", data: "it failed" }));
    const error = {
      type: "ToolError" as const,
      server: "desk",
      tool: "send",
      message: "ada@x.test is unknown",
      retryable: false,
    };
    const failed: CallOutcome = {
      ok: false,
      error,
      data: { who: "ada@x.test" },
      bytes: 9,
      decision: "allowed",
    };
    const only = settings({ url, on: ["result"] });
    const outcome = await under([only], failed).make();
    expect(JSON.stringify(outcome)).not.toContain("ada@x.test");
    expect(messageIn(outcome)).toBe("it failed");
    const unreached: CallOutcome = { ok: false, error, bytes: 0, decision: "unreachable" };
    expect(await under([only], unreached).make()).toEqual(unreached);
    expect(received).toHaveLength(1);
  });

  it("is asked about the tools that it names, and about none that there is not", async () => {
    const { url, received } = await checkAt(() => ({ decision: "deny" }));
    const { make } = under([settings({ url, tools: ["mcp__desk__read*"] })]);
    expect(await make()).toEqual(OK);
    expect(await make("local", { tool: "mcp__other__send", arguments: {} })).toEqual(OK);
    expect(received).toEqual([]);
  });

  it("is not asked about a tool that its principal does not see, and no call of it is made", async () => {
    const { url, received } = await checkAt(() => ({ decision: "allow" }));
    const { make, made } = under([settings({ url })]);
    await make("local", { tool: "mcp__desk__hidden", arguments: {} });
    expect([received, made]).toEqual([[], []]);
  });

  it("may be a command, which reads the request and prints its answer", async () => {
    const script = `
      let text = "";
      process.stdin.on("data", (part) => (text += part)).on("end", () => {
        const { data } = JSON.parse(text);
        console.log(JSON.stringify({ decision: data.arguments.to === "ada" ? "deny" : "allow", reason: Object.keys(process.env).join() }));
      });`;
    const { make, made } = under([commandOf(script)]);
    expect(messageIn(await make())).toContain("refuses it: PATH");
    await make("local", { ...CALL, arguments: { to: "bob" } });
    expect(made).toHaveLength(1);
  });
});

describe("the checks of managed settings", () => {
  /** Notes what each check is asked, in their order. */
  const noting = async (name: string, seen: string[], more: Partial<InterceptorSettings> = {}) => {
    const { url } = await checkAt(({ type }) => {
      seen.push(`${name} ${type}`);
      return { decision: "allow" };
    });
    return settings({ name, url, ...more });
  };

  it("are the last to see what is sent, and the first to see what came", async () => {
    const seen: string[] = [];
    const checks = [await noting("own", seen), await noting("theirs", seen, { isManaged: true })];
    await under(checks).make();
    expect(seen).toEqual(["own call", "theirs call", "theirs result", "own result"]);
  });

  it("are not those of a project, which may have the same name", async () => {
    const own = await checkAt(() => ({ decision: "allow", reason: "own" }));
    const theirs = await checkAt(() => ({ decision: "deny", reason: "theirs" }));
    const { make, made, noted } = under([
      settings({ url: own.url }),
      settings({ url: theirs.url, isManaged: true }),
    ]);
    expect(messageIn(await make())).toContain("managed interceptors.dlp refuses it: theirs");
    expect(made).toEqual([]);
    expect(noted.map(({ rule }) => rule)).toEqual(["interceptors.dlp", "managed interceptors.dlp"]);
  });

  it("find no program by the PATH of whoever starts ptc", async () => {
    const script = "console.log(JSON.stringify({ decision: 'deny', reason: JSON.stringify(process.env) }))";
    const { make } = under([commandOf(script, { isManaged: true, cwd: "/" })]);
    const message = messageIn(await make());
    expect(message).toContain('{"PATH":"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}');
  });
});

describe("a reviewer", () => {
  const QUESTION: ApprovalRequest = {
    ...{ runId: "run-1", tool: CALL.tool, definitionDigest: "d", argumentsDigest: "a" },
    ...{ arguments: CALL.arguments, reason: "the rule says so" },
  };
  /** Puts a question to the reviewer of this name. */
  const review = async (checks: readonly InterceptorSettings[], reviewer = "interceptors.own") => {
    const { checks: all } = under(checks);
    const tool = { namespacedName: CALL.tool, server: "desk", name: "send" } as never;
    const approver = interceptQuestions({ ask: async () => UNASKED }, [
      all.reviewing({
        ...{ runId: "run-1", context: { principal: "local", source: "serve" } },
        ...{ tools: { get: () => tool }, isVisible: () => true },
      }),
    ]);
    return approver.review(QUESTION, reviewer, new AbortController().signal);
  };
  const reviewerAt = async (answer: Answer, more: Partial<InterceptorSettings> = {}) => {
    const { url, received } = await checkAt(answer);
    return { check: settings({ name: "own", on: ["question"], url, ...more }), received };
  };

  it("approves one call, by its own name", async () => {
    const { check, received } = await reviewerAt(() => ({ decision: "allow", reason: "to\na colleague" }));
    const how = expect.stringMatching(/^approvals\.reviewer: to\W+a colleague$/);
    const answer = { decision: "once", by: "interceptors.own", how };
    expect(await review([check])).toEqual({ kind: "answered", answer });
    const data = { run_id: "run-1", tool: CALL.tool, reason: "the rule says so" };
    expect(JSON.parse(received[0]?.body ?? "")).toMatchObject({ type: "question", data });
    expect(received[0]?.body).not.toContain("hunter2");
  });

  it("refuses one, and says why", async () => {
    const { check } = await reviewerAt(() => ({ decision: "deny", reason: "too much" }));
    const why = "interceptors.own refuses it: too much";
    const answer = { decision: "denied", by: "interceptors.own", why };
    expect(await review([check])).toMatchObject({ kind: "answered", answer });
  });

  it.each<[string, Answer]>([
    ["it asks", () => ({ decision: "ask", reason: "who is bob?" })],
    ["it replaces arguments", () => ({ decision: "replace", arguments: {} })],
    ["it answers something else", () => ({ decision: "approve" })],
    ["it fails", (_, response) => void response.writeHead(500).end()],
  ])("leaves to a person what it does not decide, also where it fails open: %s", async (_, answer) => {
    const { check } = await reviewerAt(answer, { failsOpen: true });
    const why = expect.stringMatching(/./);
    expect(await review([check])).toEqual({ kind: "left", by: "interceptors.own", why });
  });

  it.each<[string, Partial<InterceptorSettings>, string]>([
    ["the policy names another", {}, "interceptors.other"],
    ["the policy names that of managed settings", {}, "managed interceptors.own"],
    ["it is not asked about the tool", { tools: ["mcp__mail__*"] }, "interceptors.own"],
    ["it is asked no questions", { on: ["call"] }, "interceptors.own"],
  ])("is not asked where %s", async (_, more, reviewer) => {
    const { check, received } = await reviewerAt(() => ({ decision: "allow" }), more);
    expect(await review([check], reviewer)).toBeUndefined();
    expect(received).toEqual([]);
  });
});

/** Each way in which a check may give no usable answer. */
const UNUSABLE: [string, () => Promise<InterceptorSettings> | InterceptorSettings][] = [
  [
    "a status",
    async () =>
      settings({ url: (await checkAt((_, response) => void response.writeHead(500).end("{}"))).url }),
  ],
  [
    "a redirect",
    async () =>
      settings({
        url: (await checkAt((_, response) => void response.writeHead(302, { Location: "/x" }).end())).url,
      }),
  ],
  ["no JSON", async () => settings({ url: (await checkAt(() => "allow")).url })],
  ["another decision", async () => settings({ url: (await checkAt(() => ({ decision: "yes" }))).url })],
  [
    "members that are unknown",
    async () => settings({ url: (await checkAt(() => ({ decision: "allow", denied: true }))).url }),
  ],
  [
    "arguments that are none",
    async () => settings({ url: (await checkAt(() => ({ decision: "replace", arguments: [1] }))).url }),
  ],
  [
    "an answer without end",
    async () => settings({ url: (await checkAt((_, response) => endless(response))).url }),
  ],
  ["nested without end", async () => settings({ url: (await checkAt(() => `${"[".repeat(100_000)}`)).url })],
  ["no server", () => settings({ url: "http://127.0.0.1:9/" })],
  ["an address in plain text", () => settings({ url: "http://dlp.internal/" })],
  ["a variable that is not set", () => settings({ url: "http://127.0.0.1:9/", off: "DLP is not set" })],
  [
    "a secret that is none",
    async () => settings({ secret: "x", url: (await checkAt(() => ({ decision: "allow" }))).url }),
  ],
  ["a command that fails", () => commandOf("process.exit(3)")],
  [
    "a command that prints without end",
    () => commandOf("const t = () => process.stdout.write('x'.repeat(65536), t); t()"),
  ],
  ["a command that there is not", () => settings({ command: ["/nowhere/scan"], secret: undefined })],
  ["silence", async () => settings({ timeoutMs: 300, url: (await checkAt(() => undefined)).url })],
  [
    "a command that waits, and has others wait",
    () =>
      commandOf(
        "require('child_process').spawn('sleep', ['600'], { stdio: 'inherit' }); setInterval(() => {}, 1000)",
        { timeoutMs: 300 },
      ),
  ],
];

function endless(response: ServerResponse): undefined {
  const write = () => {
    if (!response.destroyed) response.write(" ".repeat(65_536), () => setImmediate(write));
  };
  write();
  return undefined;
}

describe("a check without a usable answer", () => {
  it.each(UNUSABLE)("refuses the call, and names no address: %s", async (_, check) => {
    const { make, made, noted } = under([await check()]);
    const outcome = await make();
    expect(made).toEqual([]);
    expect(outcome).toMatchObject({ ok: false, decision: "forbidden", rule: "interceptors.dlp" });
    expect(messageIn(outcome)).toContain("it was asked in vain: ");
    expect(messageIn(outcome)).not.toContain("secret-path");
    expect(noted).toMatchObject([{ decision: "deny" }]);
  });

  it("lets the call go on where it fails open, and the audit log says so", async () => {
    const { make, made, noted } = under([settings({ url: "http://127.0.0.1:9/", failsOpen: true })]);
    expect(await make()).toEqual(OK);
    expect(made).toHaveLength(1);
    const reason = expect.stringContaining("it was asked in vain: it was not reached");
    expect(noted).toMatchObject([
      { decision: "allow", reason },
      { decision: "allow", reason },
    ]);
  });

  it("makes no call that was cancelled meanwhile, also where it fails open", async () => {
    const { url, received } = await checkAt(() => undefined);
    const { make, made, abort } = under([settings({ url, failsOpen: true })]);
    const outcome = make();
    await expect.poll(() => received).toHaveLength(1);
    abort.abort();
    expect(messageIn(await outcome)).toContain("was cancelled");
    expect(made).toEqual([]);
  });

  it("holds nobody up whom it is not asked about, whatever one principal asks at once", async () => {
    const { url, received } = await checkAt(({ data }) =>
      data.principal === "eve" ? undefined : { decision: "allow" },
    );
    const { make, made, abort } = under([settings({ url, on: ["call"] })]);
    const many = Array.from({ length: 300 }, () => make("eve"));
    await expect.poll(() => received).toHaveLength(16);
    expect(await make("ada")).toEqual(OK);
    expect(made).toHaveLength(1);
    expect(received).toHaveLength(17);
    abort.abort();
    expect((await Promise.all(many)).every(({ ok }) => !ok)).toBe(true);
  });
});
