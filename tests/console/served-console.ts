/** A console of the tests on loopback, over an archive in memory, with questions, tools and an audit log. */

import { join } from "node:path";
import { onTestFinished } from "vitest";
import { AuditLog } from "../../archive/audit/audit-log.ts";
import { auditFiles } from "../../archive/audit/reading/audit-source.ts";
import type { ApprovalRequest } from "../../broker/approvals/approvals.ts";
import { parseConfiguration } from "../../configuration/parse.ts";
import { Console } from "../../console/console.ts";
import { OneTimeAddress } from "../../console/entrance.ts";
import type { ConsoleParts } from "../../console/parts.ts";
import { LoopbackServer } from "../../console/serve-console.ts";
import type { Rights } from "../../console/viewer.ts";
import { RunFeed } from "../../execution/runs/run-feed.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { openPasskeyStore, Passkeys } from "../../logins/passkeys.ts";
import { openPrograms } from "../../programs/open-programs.ts";
import { KeyList } from "../../secrets/sealing.ts";
import { MemoryStore } from "../archive/memory-store.ts";
import { serversOf } from "../catalog/tool-of.ts";
import { pendingProject } from "../execution/pending/pending-project.ts";
import { viewOf } from "../server/mcp/served.ts";
import { archiveIn, type SampleRun } from "../server/reports/sample-archive.ts";
import { newFolder } from "../temporary-folder.ts";

export const ALL: Rights = { runs: "all", audit: "all", approves: true, replays: true, saves: true };

/** A question of a program that asks for a person. */
export interface AskedQuestion {
  principal?: string;
  ticket: string;
  code?: string;
  fileName?: string;
  client?: string;
  request?: Partial<ApprovalRequest>;
}

const REQUEST: ApprovalRequest = {
  runId: "3f9a2c11-0000-4000-8000-000000000001",
  tool: "mcp__mail__send_message",
  definitionDigest: "d",
  arguments: { to: "ada@example.com", subject: "Figures" },
  argumentsDigest: "sha256:1",
  reason: "rule 'mail-asks': mail leaves the house",
  origins: ["to: from the user", "subject: from mcp__docs__get_document (call 1), labelled untrusted"],
  claims: { server: "mail", description: "Sends a message.", annotations: { destructiveHint: true } },
};

const SERVERS = serversOf({
  docs: [{ name: "get_document", description: "Gets a document by its id." }, { name: "list_documents" }],
  mail: [
    {
      name: "send_message",
      description: "Sends a message to somebody.",
      inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    },
  ],
});

/** @param configuration in the form of ptc.yaml. */
export async function serveConsole(
  more: Partial<ConsoleParts> = {},
  configuration: object = {},
  { name = "127.0.0.1", now = Date.now }: { name?: "127.0.0.1" | "localhost"; now?: () => number } = {},
) {
  const folder = newFolder();
  const parsed = parseConfiguration(JSON.stringify(configuration), {
    ...{ file: "ptc.yaml", directory: folder, environment: {} },
  });
  const archive = new MemoryStore();
  const { open } = pendingProject();
  const pending = open({ require: parsed.approvals.require });
  const runs = new RunFeed();
  const path = join(folder, "audit.jsonl");
  const audit = new AuditLog({
    ...{
      path,
      clock: { wallMs: Date.now },
      redact: (text: string) => text,
      actor: { user: "ada", host: "desk-7" },
    },
    onFailure: (message) => {
      throw new Error(message);
    },
  });
  const server = await LoopbackServer.listen(0, name);
  const address = new OneTimeAddress({ principal: "local", name: "ada" }, Date.now);
  const warnings: string[] = [];
  const console = new Console({
    project: "sample",
    origin: server.origin,
    configuration: () => parsed,
    archive,
    pending: async () => pending,
    audit: auditFiles(path),
    tools: async () => ({
      ...{ all: viewOf(SERVERS), callableFor: () => viewOf(SERVERS), programs: await openPrograms(parsed) },
      modulesFor: () => {
        throw new Error("no modules are needed");
      },
    }),
    printers: () => loadPrinters(["typescript", "python"]),
    follow: (watcher) => runs.watch(watcher),
    passkeys: new Passkeys({
      store: openPasskeyStore({ XDG_STATE_HOME: folder }),
      ...{ origin: server.origin, now },
      sealer: async () => new KeyList([Buffer.alloc(32, 9)]),
      onChange: (change) => audit.login(change),
    }),
    entrance: address,
    rightsOf: async () => ALL,
    nameInAudit: ({ name }) => name,
    sealer: async () => new KeyList([Buffer.alloc(32, 9)]),
    now: Date.now,
    onWarning: (message) => void warnings.push(message),
    intervalMs: 30,
    ...more,
  });
  server.serve(console);
  onTestFinished(async () => {
    console.close();
    await server.close();
  });
  const ask = ({
    principal = "local",
    ticket,
    code,
    fileName = "report.ts",
    client,
    request,
  }: AskedQuestion) =>
    pending.offer(
      { principal, source: "serve", ...(client === undefined ? {} : { client: { name: client } }) },
      { ...REQUEST, ...request },
      { fileName, code, language: "typescript" },
      ticket,
    );
  return {
    ...{ server, console, folder, archive, pending, runs, audit, warnings, ask },
    origin: server.origin,
    /** What the form of a question has in it besides the answer. */
    digest: async (ticket: string) =>
      (await pending.list(undefined)).find((each) => each.ticket === ticket)?.digest ?? "",
    /** Another one-time address. */
    address: () => address.make(server.origin),
    archived: (sample: SampleRun) => archiveIn(archive, sample),
  };
}

/** A browser without pages: its requests say what a browser's would, and keep the console's cookies. */
export class Visitor {
  readonly #origin: string;
  readonly cookies = new Map<string, string>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#ask(path, { headers: { "Sec-Fetch-Site": "none", ...headers } });
  }

  async text(path: string): Promise<string> {
    return (await this.get(path)).text();
  }

  async post(
    path: string,
    fields: Readonly<Record<string, string>> | URLSearchParams,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const own = {
      "Content-Type": "application/x-www-form-urlencoded",
      Origin: this.#origin,
      "Sec-Fetch-Site": "same-origin",
    };
    return this.#ask(path, {
      method: "POST",
      body: new URLSearchParams(fields).toString(),
      headers: { ...own, ...headers },
    });
  }

  /** The token of the forms of a page. */
  async token(path = "/console/me"): Promise<string> {
    return /name="token" value="([\w-]+)"/.exec(await this.text(path))?.[1] ?? "";
  }

  async #ask(path: string, init: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = {
      ...(init.headers as Record<string, string>),
      ...(cookie === "" ? {} : { Cookie: cookie }),
    };
    const response = await fetch(new URL(path, this.#origin), { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}

/** Somebody who has opened the console. */
export async function enter(origin: string, address: string): Promise<Visitor> {
  const visitor = new Visitor(origin);
  const opened = await visitor.get(address.slice(origin.length));
  if (opened.status !== 303) throw new Error(`the console was not opened: ${opened.status}`);
  return visitor;
}
