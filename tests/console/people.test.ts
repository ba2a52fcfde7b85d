import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { consoleAddress } from "../../configuration/http-settings.ts";
import { parseConfiguration } from "../../configuration/parse.ts";
import { openAuthenticator } from "../../identity/identity.ts";
import { openConsoleOfHost } from "../../project/console/served-console.ts";
import { Project } from "../../project/open-project.ts";
import { openServing } from "../../project/serving.ts";
import { KeyList } from "../../secrets/sealing.ts";
import { MemoryStore } from "../archive/memory-store.ts";
import { fixtureServer } from "../cli/ptc-process.ts";
import { freePort } from "../free-port.ts";
import { InProcessEngine } from "../sandbox/in-process-engine.ts";
import { serveHttpHere } from "../server/http/served-http.ts";
import { executed, serviceOf } from "../server/mcp/served.ts";
import { archiveIn } from "../server/reports/sample-archive.ts";
import { newFolder } from "../temporary-folder.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveOidc } from "../upstream/authorization/servers/oidc-server.ts";
import { SoftwarePasskey } from "./software-passkey.ts";

/** ptc over HTTP with its console, and an issuer at which whoever `person` names logs in. */
async function serveTeam({
  scopes = {},
  rules,
  more = {},
  name = "127.0.0.1",
}: {
  scopes?: object;
  rules?: (issuer: string) => string;
  /** More of the configuration. */
  more?: object;
  /** By which browsers reach it. Passkeys need `localhost`. */
  name?: "127.0.0.1" | "localhost";
} = {}) {
  const port = await freePort();
  const origin = `http://${name}:${port}`;
  let person = "ada";
  const oidc = await serveOidc({
    clients: [
      {
        ...{ client_id: "ptc", client_secret: "s3cret", redirect_uris: [`${origin}/console/callback`] },
        ...{ grant_types: ["authorization_code"], response_types: ["code"] },
      },
    ],
    person: () => person,
  });
  const login = { client_id: "ptc", client_secret: "s3cret", scopes: ["profile", "groups"] };
  const issuer = { issuer: oidc.issuer, scopes, login };
  const directory = newFolder();
  const env = { HOME: directory, PTC_KEYRING: "off" };
  if (rules !== undefined) writeFileSync(join(directory, "rules.cedar"), rules(oidc.issuer));
  const configuration = parseConfiguration(
    JSON.stringify({
      http: { public_url: `${origin}/mcp`, auth: { issuers: [issuer] } },
      ...(rules === undefined ? {} : { policy: ["rules.cedar"] }),
      ...{ sandbox: { warm: 0 }, ...more },
    }),
    { file: "ptc.yaml", directory, environment: {} },
  );
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message);
  const store = new MemoryStore();
  const project = new Project(configuration, { env, archive: () => store, onWarning });
  const opened = await openServing(project, {
    principal: "local",
    engine: () => new InProcessEngine(async () => "done"),
  });
  const { host } = opened;
  await opened.listed();
  onTestFinished(() => host.close());
  const pages = openConsoleOfHost(opened, async () => new KeyList([Buffer.alloc(32, 5)]));
  onTestFinished(() => pages.close());
  await serveHttpHere(
    serviceOf(async () => executed({ data: 1 })),
    {
      listen: { host: "127.0.0.1", port, isLoopback: true },
      publicUrl: `${origin}/mcp`,
      authenticator: openAuthenticator(configuration, { env, onWarning }),
      console: pages,
    },
  );
  const enter = async (name: string, path = "/console/") => {
    person = name;
    const browser = new ScriptedBrowser();
    return { browser, ended: await browser.open(`${origin}${path}`) };
  };
  const text = async (browser: ScriptedBrowser, path: string) =>
    (await browser.ask(`${origin}${path}`)).text();
  return {
    origin,
    issuer: oidc.issuer,
    host,
    enter,
    text,
    warnings,
    pages,
    authorizations: oidc.authorizations,
  };
}

it("people log in at their issuer, and each sees what is their own, on the page that they wanted", async () => {
  const { enter, text, origin, issuer, host, warnings, authorizations } = await serveTeam();
  for (const name of ["ada", "eve"])
    await archiveIn(host.archive, { names: `${issuer}#${name}`, code: `programOf${name}()\n` });
  const { browser: ada, ended } = await enter("ada", "/console/runs?text=program");
  expect(ended).toEqual({ url: `${origin}/console/runs?text=program`, status: 200 });
  expect(await text(ada, "/console/runs")).toContain("programOfada");
  expect(await text(ada, "/console/runs")).not.toContain("programOfeve");
  expect(await text(ada, "/console/me")).toContain(`${issuer}#ada`);
  const { browser: eve } = await enter("eve");
  expect(await text(eve, "/console/runs")).toContain("programOfeve");
  expect(await text(eve, "/console/runs")).not.toContain("programOfada");
  expect(authorizations.map((query) => query.get("code_challenge_method"))).toEqual(["S256", "S256"]);
  expect(authorizations.map((query) => query.get("scope"))).toEqual(Array(2).fill("openid profile groups"));
  expect(warnings).toEqual([]);
});

it("an answer of the issuer counts in the browser that asked alone, and once", async () => {
  const { enter, origin } = await serveTeam();
  const victim = new ScriptedBrowser();
  const { browser: attacker } = await enter("eve");
  const stopped = await attacker.open(
    `${origin}/console/login`,
    ({ pathname }) => pathname === "/console/callback",
  );
  expect((await victim.open(stopped.url)).status).toBe(400);
  expect((await victim.ask(`${origin}/console/me`)).status).toBe(303);
  expect((await attacker.open(stopped.url)).status).toBe(200);
  expect((await attacker.open(stopped.url)).status).toBe(400);
});

it("a token for MCP opens no page, and a session of the console no MCP", async () => {
  const { enter, origin } = await serveTeam();
  const { browser } = await enter("ada");
  expect((await browser.ask(`${origin}/mcp`, { method: "POST" })).status).toBe(401);
  const bearer = await fetch(`${origin}/console/runs`, {
    redirect: "manual",
    headers: { Authorization: "Bearer x" },
  });
  expect(bearer.status).toBe(303);
});

it("whoever has not what `scopes` asks of people for running comes in nowhere, and for approving answers nothing", async () => {
  const { enter } = await serveTeam({ scopes: { "ptc:run": ["staff"] } });
  expect((await enter("ada")).ended.status).toBe(403);
  const team = await serveTeam({ scopes: { "ptc:approve": ["leads"] } });
  const { browser } = await team.enter("ada");
  expect(await team.text(browser, "/console/me")).toContain("none here");
});

it("whoever a rule lets read runs, answer questions and read the audit log does so, others find nothing, and each access is noted", async () => {
  const EVERYTHING = "permit (principal, action, resource);\n";
  const { enter, text, origin, issuer, host, warnings } = await serveTeam({
    rules: (of) => `${EVERYTHING}
      permit (principal == User::"${of}#lee", action == Action::"read_runs", resource == User::"${of}#ada");
      permit (principal == User::"${of}#lee", action == Action::"approve", resource == User::"${of}#ada");
      permit (principal == User::"${of}#lee", action == Action::"audit", resource);`,
  });
  const runs: Record<string, string> = {};
  for (const name of ["ada", "eve", "lee"]) {
    const principal = `${issuer}#${name}`;
    runs[name] = await archiveIn(host.archive, { names: principal, code: `programOf${name}()\n` });
    const pending = await host.pendingApprovals();
    const request = {
      runId: runs[name],
      tool: "mcp__mail__send",
      definitionDigest: "d",
      argumentsDigest: "a",
    };
    await pending.offer(
      { principal, source: "serve" },
      { ...request, arguments: { for: name } },
      { fileName: `of-${name}.ts` },
      `t-${name}`,
    );
  }
  const { browser: lee } = await enter("lee");
  expect(await text(lee, "/console/runs")).not.toContain("programOfada");
  const everybody = await text(lee, "/console/runs?principal=*");
  expect(everybody).toContain("programOfada");
  expect(everybody).toContain("programOflee");
  expect(everybody).not.toContain("programOfeve");
  expect(everybody).not.toContain(runs.eve?.slice(0, 8));
  expect(await text(lee, `/console/runs/${runs.ada}`)).toContain("programOfada");
  expect((await lee.ask(`${origin}/console/runs/${runs.eve}`)).status).toBe(404);
  const inbox = await text(lee, "/console/inbox");
  expect(inbox).toContain("of-ada.ts");
  expect(inbox).not.toContain("of-eve.ts");
  const token = /name="token" value="([\w-]+)"/.exec(inbox)?.[1] ?? "";
  const digestOf = async (ticket: string) =>
    (await (await host.pendingApprovals()).list(undefined)).find((each) => each.ticket === ticket)?.digest ??
    "";
  const answer = async (ticket: string) =>
    lee.ask(`${origin}/console/inbox/${ticket}`, {
      method: "POST",
      body: new URLSearchParams({ decision: "once", token, digest: await digestOf(ticket) }),
      headers: { Origin: origin },
    });
  expect((await answer("t-eve")).headers.get("location")).toContain("done=gone");
  expect((await answer("t-ada")).headers.get("location")).toContain("done=approved");
  const noted = async () =>
    (await text(lee, "/console/audit/export"))
      .split("\n")
      .filter((line) => line.includes('"access"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .map(({ action, of, run_id: id }) => [action, of, id])
      .slice(0, 3);
  await expect.poll(noted).toEqual([
    ["read_runs", `${issuer}#ada`, runs.ada],
    ["approve", `${issuer}#ada`, runs.ada],
    ["audit", undefined, undefined],
  ]);
  const { browser: ada } = await enter("ada");
  for (const path of [
    "/console/runs?principal=*",
    `/console/runs?principal=${issuer}%23lee`,
    "/console/inbox",
  ])
    expect(await text(ada, path)).not.toMatch(/of-?lee/i);
  expect(await text(ada, "/console/audit")).not.toContain(`${issuer}#lee`);
  expect((await ada.ask(`${origin}/console/runs/${runs.lee}`)).status).toBe(404);
  expect(warnings).toEqual([]);
});

it("the link of a notice leads through the login to its question", async () => {
  const { enter, text, origin, issuer, host } = await serveTeam();
  expect(consoleAddress(host.configuration.http)).toBe(`${origin}/console`);
  const request = { runId: "r", tool: "mcp__mail__send", definitionDigest: "d", argumentsDigest: "a" };
  const pending = await host.pendingApprovals();
  for (const ticket of ["3f9a2c", "other1"])
    await pending.offer(
      { principal: `${issuer}#ada`, source: "serve" },
      { ...request, arguments: {} },
      { fileName: `${ticket}.ts` },
      ticket,
    );
  const link = "/console/inbox/3f9a2c";
  const { browser, ended } = await enter("ada", link);
  expect(ended).toEqual({ url: `${origin}${link}`, status: 200 });
  const page = await text(browser, link);
  expect(page).toContain("3f9a2c.ts");
  expect(page).not.toContain("other1.ts");
  const { auth } = host.configuration.http;
  const issuers = (auth?.issuers ?? []).map((each) => ({ ...each, login: undefined }));
  const without = { ...host.configuration.http, auth: { tokens: false, issuers } };
  expect(consoleAddress(without)).toBeUndefined();
});

it("a call that a person tries is theirs, goes through the policy, and is archived and audited", async () => {
  const { enter, text, origin, issuer, host, warnings } = await serveTeam({
    more: {
      servers: [fixtureServer("docs", "documents.mjs")],
      approvals: { ask: ["mcp__docs__delete_document"] },
    },
  });
  const { browser } = await enter("ada");
  const call = async (tool: string, fields: Readonly<Record<string, string>>) => {
    const page = await text(browser, `/console/tools/${tool}`);
    const token = /name="token" value="([\w-]+)"/.exec(page)?.[1] ?? "";
    const tried = await browser.ask(`${origin}/console/tools/${tool}/call`, {
      method: "POST",
      body: new URLSearchParams({ token, ...fields }),
      headers: { Origin: origin },
    });
    return text(browser, tried.headers.get("location") ?? expect.fail(await tried.text()));
  };
  const made = await call("mcp__docs__get_document", { "arg:documentId": "d1" });
  expect(made).toContain("mcp__docs__get_document");
  expect(made).toContain("d1");
  const refused = await call("mcp__docs__delete_document", { "arg:documentId": "d1" });
  expect(refused).toContain("needs an approval and nobody can be asked here");
  const { runs } = await host.archive.list({ principal: `${issuer}#ada`, limit: 9 });
  expect(runs.map(({ client, source }) => [client, source])).toEqual([
    ["ptc console", "call"],
    ["ptc console", "call"],
  ]);
  expect(await text(browser, "/console/audit/export")).toContain(`"run_id":"${runs[1]?.run_id}"`);
  expect(warnings).toEqual([]);
});

describe("people who log in, where approvals need a passkey", () => {
  /** Ada, Eve and Lee, each with a passkey of their own, a question of each, and a rule that lets Lee answer those of Ada. */
  const setUp = async () => {
    const team = await serveTeam({
      name: "localhost",
      more: { approvals: { require: "passkey" } },
      rules: (of) => `permit (principal, action == Action::"call", resource);
        permit (principal == User::"${of}#lee", action == Action::"approve", resource == User::"${of}#ada");`,
    });
    const { origin, issuer, host, text } = team;
    const pending = await host.pendingApprovals();
    const people = new Map<string, Awaited<ReturnType<typeof person>>>();
    const person = async (name: string) => {
      const { browser } = await team.enter(name);
      const passkey = new SoftwarePasskey(origin);
      const token = /name="token" value="([\w-]+)"/.exec(await text(browser, "/console/me"))?.[1] ?? "";
      const post = async (path: string, fields: Record<string, string> = {}) => {
        const response = await browser.ask(`${origin}/console/${path}`, {
          method: "POST",
          body: new URLSearchParams({ token, ...fields }),
          headers: { Origin: origin },
        });
        return { status: response.status, to: response.headers.get("location"), text: await response.text() };
      };
      const begun = async (path: string, fields: Record<string, string> = {}) =>
        JSON.parse((await post(path, fields)).text) as { options: { challenge: string }; sealed: string };
      const { options, sealed } = await begun("me/passkeys/offer");
      const registered = await post("me/passkeys", { sealed, response: passkey.create(options) });
      expect(registered.status).toBe(303);
      return {
        ...{ passkey, post },
        /** What the browser of this person sends with an approval. */
        async proof(ticket: string) {
          const use = await begun(`inbox/${ticket}/passkey`, { decision: "once" });
          return { decision: "once", sealed: use.sealed, response: passkey.get(use.options) };
        },
        async answer(ticket: string, fields: Record<string, string>) {
          const [question] = await pending.find(undefined, ticket);
          return post(`inbox/${ticket}`, { digest: question?.digest ?? "", ...fields });
        },
      };
    };
    for (const [index, name] of ["ada", "eve", "lee"].entries()) {
      people.set(name, await person(name));
      const request = {
        runId: `run-${name}`,
        tool: "mcp__mail__send",
        definitionDigest: "d",
        argumentsDigest: "a",
      };
      await pending.offer(
        { principal: `${issuer}#${name}`, source: "serve" },
        { ...request, arguments: { for: name } },
        { fileName: `of-${name}.ts` },
        `000000000000000${index + 1}`,
      );
    }
    const of = (name: string) => people.get(name) ?? expect.fail(`there is no ${name}`);
    const answerTo = async (ticket: string) => (await pending.offered(ticket))?.answer;
    return { ...team, of, answerTo, pending };
  };
  const [OF_ADA, OF_EVE] = ["0000000000000001", "0000000000000002"];

  it("each approves with a passkey of their own, which is bound to who they are at the issuer, and with nothing less", async () => {
    const { of, answerTo, issuer, text, enter, warnings } = await setUp();
    const ada = of("ada");
    const plain = await ada.answer(OF_ADA, { decision: "once" });
    expect([plain.status, plain.text]).toEqual([
      403,
      expect.stringContaining("approvals count here only with a passkey"),
    ]);
    expect(await answerTo(OF_ADA)).toBeUndefined();
    expect(await ada.answer(OF_ADA, await ada.proof(OF_ADA))).toMatchObject({
      to: "/console/inbox?done=approved",
    });
    expect(await answerTo(OF_ADA)).toEqual({
      ...{ decision: "once", by: `${issuer}#ada`, how: "ptc console" },
      proof: { way: "passkey", credential: ada.passkey.id },
    });
    // Another session of the same person has the same passkey, and that of somebody else has not.
    const { browser } = await enter("ada");
    const me = await text(browser, "/console/me");
    expect(me).toContain(ada.passkey.id.slice(0, 8));
    expect(me).not.toContain(of("eve").passkey.id.slice(0, 8));
    expect(warnings).toEqual([]);
  });

  it("nobody approves another's question, neither with their own passkey nor with what the other's has signed", async () => {
    const { of, answerTo } = await setUp();
    const [ada, eve] = [of("ada"), of("eve")];
    expect(await eve.post(`inbox/${OF_ADA}/passkey`, { decision: "once" })).toMatchObject({ status: 404 });
    const own = await eve.answer(OF_ADA, await eve.proof(OF_EVE));
    expect(own.to).toBe("/console/inbox?done=gone");
    const taken = await ada.proof(OF_ADA);
    expect((await eve.answer(OF_ADA, taken)).to).toBe("/console/inbox?done=gone");
    const elsewhere = await eve.answer(OF_EVE, taken);
    expect([elsewhere.status, elsewhere.text]).toEqual([
      403,
      expect.stringContaining("was not begun here by you"),
    ]);
    for (const ticket of [OF_ADA, OF_EVE]) expect(await answerTo(ticket)).toBeUndefined();
    // What was tried with it did not use it up for the one who has signed.
    expect((await ada.answer(OF_ADA, taken)).to).toBe("/console/inbox?done=approved");
  });

  it("whoever a rule lets answer for another does so with their own passkey alone", async () => {
    const { of, answerTo, issuer } = await setUp();
    const [ada, lee] = [of("ada"), of("lee")];
    const taken = await lee.answer(OF_ADA, await ada.proof(OF_ADA));
    expect([taken.status, taken.text]).toEqual([403, expect.stringContaining("was not begun here by you")]);
    expect((await lee.answer(OF_ADA, await lee.proof(OF_ADA))).to).toBe("/console/inbox?done=approved");
    expect(await answerTo(OF_ADA)).toMatchObject({
      by: `${issuer}#lee`,
      proof: { way: "passkey", credential: lee.passkey.id },
    });
  });
});
