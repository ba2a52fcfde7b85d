/**
 * What a principal reads and answers over HTTP besides MCP: runs, questions that wait, and the audit log, as JSON below the path of MCP.
 * A principal's own records need no rule. Another principal's need a rule that permits it, and the gate decides about each. A record that
 * is not permitted is answered as one that does not exist. The audit log is the exception: everybody knows that it exists.
 *
 *     GET  runs?principal=&status=&tool=&since=&before=&limit=     the newest first
 *     GET  runs/ID, runs/ID/output, runs/ID/page                   all of it, what it gave out, and its page
 *     POST runs/ID/replay                                          runs it again, without any server
 *     GET  approvals, approvals/TICKET                             what waits for an answer
 *     POST approvals/TICKET  {"decision": "approve" | "deny"}      the first answer counts
 *     GET  audit?principal=&event=&run=&since=&limit=              lines, the oldest first
 */

import * as z from "zod/mini";
import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { AuditSource } from "../../archive/audit/reading/audit-source.ts";
import type { AuditEntry } from "../../archive/audit/reading/read-log.ts";
import type { ListedRun } from "../../archive/listed-run.ts";
import { parseForeignJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { ApprovalRequest } from "../../broker/approvals/approvals.ts";
import type { AccessGate, Owner } from "../../broker/policy/authorizer.ts";
import { archivedOutput } from "../../execution/output/archived-output.ts";
import { joinOutput } from "../../execution/output/whole-output.ts";
import {
  approvalOf,
  type ListedQuestion,
  type PendingApproval,
  type PendingApprovals,
} from "../../execution/pending/pending-approvals.ts";
import { PendingError } from "../../execution/pending/tickets.ts";
import type { Caller } from "../../identity/caller.ts";
import { identityOf, wayOf } from "../../protocol/run-context.ts";
import { readPageAssets } from "../pages/page.ts";
import { renderRunPage } from "../pages/run-page.ts";
import { runAsJson } from "../reports/run-json.ts";

/** The parts that hold what is read. */
export interface RecordsOptions {
  gate: AccessGate;
  archive: () => Pick<ArchiveStore, "exists" | "list" | "read">;
  pending: () => Promise<Pick<PendingApprovals, "list" | "look" | "get" | "answer">>;
  audit: () => Promise<Pick<AuditSource, "entries">>;
  /** Runs a recorded program again. Resolves with the outcome as JSON. */
  replay: (runId: string, caller: Caller, signal: AbortSignal) => Promise<object>;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const MAX_BODY_BYTES = 64 * 1024;
/** What is answered, each as its method and its path. */
export const RECORD_ROUTES = [
  "GET runs",
  "GET runs/ID",
  "GET runs/ID/output",
  "GET runs/ID/page",
  "POST runs/ID/replay",
  "GET approvals",
  "GET approvals/ID",
  "POST approvals/ID",
  "GET audit",
] as const;
type RecordRoute = (typeof RECORD_ROUTES)[number];
/** A longer question is in a list without what its program wrote. */
const MAX_LISTED_BYTES = 16 * 1024;
const Decision = z.strictObject({ decision: z.enum(["approve", "deny"]) });

/** A request that is answered with a problem. The message goes to the sender. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class Records {
  readonly #options: RecordsOptions;

  constructor(options: RecordsOptions) {
    this.#options = options;
  }

  /** Answers a request below the path of MCP; `undefined` for what is not about records. @param path what follows that path. */
  async fetch(request: Request, path: string, caller: Caller): Promise<Response | undefined> {
    const [kind, id, part, ...more] = path.split("/").filter((each) => each !== "");
    if (more.length > 0) return undefined;
    const { searchParams: query } = new URL(request.url);
    const asked = `${request.method} ${kind}${id === undefined ? "" : "/ID"}${part === undefined ? "" : `/${part}`}`;
    try {
      switch (asked as RecordRoute) {
        case "GET runs":
          return json(await this.#listRuns(query, caller));
        case "GET runs/ID":
          return streamed(runAsJson(await this.#run(id, caller)), "application/json");
        case "GET runs/ID/output":
          return text(joinOutput(archivedOutput(await this.#run(id, caller))).text);
        case "GET runs/ID/page":
          return page(await renderRunPage(await this.#run(id, caller), readPageAssets()));
        case "POST runs/ID/replay": {
          const { record } = await this.#run(id, caller);
          return json(await this.#options.replay(record.run_id, caller, request.signal));
        }
        case "GET approvals":
          return json(await this.#questions(caller));
        case "GET approvals/ID":
          return json(describeQuestion(await this.#question(id, caller)));
        case "POST approvals/ID":
          return json(await this.#answer(id, request, caller));
        case "GET audit":
          return await this.#readAudit(query, caller);
        default:
          return undefined;
      }
    } catch (error) {
      if (error instanceof RefusedError) return problem(error.status, error.message);
      if (error instanceof ArchiveError || error instanceof PendingError)
        return problem(503, oneLine(error.message));
      throw error;
    }
  }

  async #listRuns(query: URLSearchParams, { context }: Caller): Promise<object> {
    const archive = this.#options.archive();
    if (!(await archive.exists())) return { runs: [], next: null };
    const principal = query.get("principal") ?? context.principal;
    const filter = {
      principal,
      limit: limitIn(query),
      ...picked(query, ["status", "tool", "server", "client", "before"]),
      ...(query.has("since") ? { sinceMs: momentIn(query) } : {}),
    };
    const { runs, next } = await archive.list(filter);
    const readable: ListedRun[] = [];
    for (const run of runs) if (await this.#mayList(run, context)) readable.push(run);
    // A principal who may read none of them does not learn that any exist.
    return { runs: readable, next: readable.length === 0 ? null : (next ?? null) };
  }

  /** Where the configured groups of its person do not decide it, the groups do that are in its record. To a token these always do. */
  async #mayList({ principal, run_id: runId }: ListedRun, context: Caller["context"]): Promise<boolean> {
    const { gate, archive } = this.#options;
    const isTold = context.withOwnToken !== true || principal !== context.principal;
    if (isTold && (await gate(context, { action: "read_runs", of: { principal } }))) return true;
    const run = await archive()
      .read(runId)
      .catch(() => undefined);
    return run !== undefined && gate(context, { action: "read_runs", of: ownerOf(run) });
  }

  /** A run that the caller may read. */
  async #run(id = "", { context }: Caller): Promise<ArchivedRun> {
    const { gate, archive } = this.#options;
    let run: ArchivedRun | undefined;
    try {
      run = await archive().read(id);
    } catch (error) {
      if (!(error instanceof ArchiveError) || error.code !== "missing") throw error;
    }
    if (run !== undefined && (await gate(context, { action: "read_runs", of: ownerOf(run) }, id))) return run;
    throw new RefusedError(404, "there is no such run");
  }

  /** The questions that the caller may answer. Those of others need a token that may approve. */
  async #questions({ context, scopes }: Caller): Promise<object[]> {
    const everybody = scopes.has("ptc:approve");
    const approvals = await this.#options.pending();
    const questions: object[] = [];
    for (const listed of await approvals.list(everybody ? undefined : context.principal)) {
      if (!(await this.#options.gate(context, approvalOf(listed.owner, listed.request)))) continue;
      const whole = listed.bytes <= MAX_LISTED_BYTES ? await approvals.get(listed.ticket) : undefined;
      questions.push(describeQuestion(whole ?? listed));
    }
    return questions;
  }

  /** The question of a ticket that the caller may answer. */
  async #question(ticket = "", { context, scopes }: Caller): Promise<PendingApproval> {
    const approvals = await this.#options.pending();
    const listed = await approvals.look(ticket);
    const isOwn = listed?.owner.principal === context.principal;
    if (listed !== undefined && (isOwn || scopes.has("ptc:approve"))) {
      const may = await this.#options.gate(context, approvalOf(listed.owner, listed.request));
      const found = may ? await approvals.get(ticket) : undefined;
      if (found !== undefined) return found;
    }
    throw new RefusedError(404, "no run waits under this ticket");
  }

  async #answer(ticket: string | undefined, request: Request, caller: Caller): Promise<object> {
    const { context, scopes } = caller;
    if (!scopes.has("ptc:approve")) throw new RefusedError(403, "this login lacks the scope ptc:approve");
    const pending = await this.#question(ticket, caller);
    const body = parseDecision(await request.text());
    const answer = {
      decision: body.decision === "approve" ? ("once" as const) : ("denied" as const),
      by: context.principal,
      how: wayOf("HTTP", context),
    };
    const { owner } = pending;
    const approvals = await this.#options.pending();
    let counts: boolean;
    try {
      counts = await approvals.answer(owner.principal, pending, answer);
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
      throw new RefusedError(409, oneLine(error.message));
    }
    if (counts) await this.#options.gate(context, approvalOf(owner, pending.request), pending.request.runId);
    return { ticket: pending.ticket, decision: answer.decision, counts };
  }

  async #readAudit(query: URLSearchParams, { context, scopes }: Caller): Promise<Response> {
    if (!scopes.has("ptc:admin")) throw new RefusedError(403, "this login lacks the scope ptc:admin");
    if (!(await this.#options.gate(context, { action: "audit" })))
      throw new RefusedError(403, `no rule permits 'audit' to '${context.principal}'`);
    const limit = limitIn(query);
    const filter = {
      ...picked(query, ["principal", "server", "tool", "run", "decision"]),
      ...(query.has("event") ? { events: query.getAll("event") } : {}),
      ...(query.has("since") ? { sinceMs: momentIn(query) } : {}),
    };
    const newest: AuditEntry[] = [];
    for await (const entry of (await this.#options.audit()).entries(filter)) {
      newest.push(entry);
      if (newest.length >= 2 * limit) newest.splice(0, newest.length - limit);
    }
    const lines = newest.slice(-limit).map(({ line }) => `${line}\n`);
    return new Response(lines.join(""), { headers: { ...HEADERS, "content-type": "application/jsonl" } });
  }
}

function ownerOf({ record: { principal, groups, bound_groups } }: ArchivedRun): Owner {
  return identityOf({ principal, groups, boundGroups: bound_groups });
}

/** A question as JSON. One that is only listed says how large it is, in place of its arguments. */
function describeQuestion(pending: PendingApproval | ListedQuestion): object {
  const { ticket, owner, fileName, askedAt, expiresAt, isAnswered, isLive } = pending;
  const isListed = "bytes" in pending;
  const request: Omit<Partial<ApprovalRequest>, "claims"> & { claims?: object | undefined } = pending.request;
  return {
    ticket,
    principal: owner.principal,
    principal_name: owner.name ?? null,
    run_id: request.runId,
    file_name: fileName,
    tool: request.tool,
    arguments: request.arguments ?? null,
    ...(isListed ? { left_out_bytes: pending.bytes } : {}),
    reason: request.reason ?? null,
    origins: request.origins ?? [],
    server_claims: request.claims ?? null,
    asked_at: new Date(askedAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    answered: isAnswered,
    live: isLive,
  };
}

function parseDecision(body: string): z.infer<typeof Decision> {
  try {
    return Decision.parse(parseForeignJson(body, { maxBytes: MAX_BODY_BYTES, maxDepth: 4 }));
  } catch {
    throw new RefusedError(400, 'the body has to be {"decision": "approve"} or {"decision": "deny"}');
  }
}

function picked<Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const given = names.flatMap((name) => {
    const value = query.get(name);
    return value === null || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given) as Partial<Record<Name, string>>;
}

function limitIn(query: URLSearchParams): number {
  const given = query.get("limit") ?? String(DEFAULT_LIMIT);
  const limit = Number(given);
  if (/^\d+$/.test(given) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new RefusedError(400, `limit has to be a whole number from 1 to ${MAX_LIMIT}`);
}

function momentIn(query: URLSearchParams): number {
  const at = Date.parse(query.get("since") ?? "");
  if (Number.isFinite(at)) return at;
  throw new RefusedError(400, "since has to be a time such as 2026-11-01T08:30Z");
}

const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

function json(value: object): Response {
  return Response.json(value, { headers: HEADERS });
}

function problem(status: number, error: string): Response {
  return Response.json({ error }, { status, headers: HEADERS });
}

function text(body: string): Response {
  return new Response(body, { headers: { ...HEADERS, "content-type": "text/plain; charset=utf-8" } });
}

/** A page with texts of a program and of servers. The browser sandboxes it, so that it does not belong to this site. */
function page(html: string): Response {
  const policy =
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
  return new Response(html, {
    headers: { ...HEADERS, "content-type": "text/html; charset=utf-8", "content-security-policy": policy },
  });
}

function streamed(parts: AsyncIterator<string>, type: string): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
  return new Response(body, { headers: { ...HEADERS, "content-type": type } });
}
