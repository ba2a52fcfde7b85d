import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AuditLog } from "../../../archive/audit/audit-log.ts";
import type { AuditChain } from "../../../archive/audit/chain/audit-chain.ts";
import type { ChainEnd } from "../../../archive/audit/chain/chain-head.ts";
import type { AuditSource } from "../../../archive/audit/reading/audit-source.ts";
import type { AuditFilter } from "../../../archive/audit/reading/read-log.ts";

const DAY_MS = 86_400_000;
const RUN = { runId: "3f9a2c00-1", traceId: "ab".repeat(16), principal: "local", codeDigest: "sha256:0" };
const ENDING = { outcome: "ok", calls: 0, durationMs: 1, redactions: 0 } as const;

/** A place for an audit log that several processes share, and how somebody damages it. */
export interface AuditKind {
  name: string;
  /** Makes a log of its own in a folder. */
  make(folder: string): MadeLog;
}

interface MadeLog {
  /** Opens it as one of several processes does. */
  open(options: { keepMs: number; wallMs: () => number }): AuditChain;
  source(): AuditSource;
  remove(seq: number): void | Promise<void>;
  replace(seq: number, from: string, to: string): void | Promise<void>;
  /** Puts two lines in each other's place. */
  swap(one: number, other: number): void | Promise<void>;
}

/** What every audit log promises, asserted of one kind. */
export function describeAudit(kind: AuditKind): void {
  describe(`an audit log that is kept by ${kind.name}`, () => {
    let folder: string;
    let log: MadeLog;
    let nowMs: number;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), "ptc-audit-"));
      log = kind.make(folder);
      nowMs = Date.UTC(2030, 0, 2);
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    const chain = () => log.open({ keepMs: DAY_MS, wallMs: () => nowMs });
    const line = (text: string) =>
      `${JSON.stringify({ time: new Date(nowMs).toISOString(), event: "run", run_id: text })}\n`;
    const runs = async (filter = {}) => {
      const found: unknown[] = [];
      for await (const { fields } of log.source().entries(filter)) found.push(fields.run_id);
      return found;
    };
    const kept = async (): Promise<ChainEnd> => {
      const head = await log.source().head();
      if (head === undefined) throw new Error("there is no head");
      return head;
    };
    const problems = async (expected: ChainEnd[] = []) =>
      (await log.source().verify({ expected })).problems.join("\n");
    const write = async (count: number) => {
      const one = chain();
      for (let i = 1; i <= count; i++) await one.append([line(`r${i}`)], i === count);
    };

    it("is nothing before its first line", async () => {
      expect(await log.source().head()).toBeUndefined();
      expect(await runs()).toEqual([]);
      expect(await log.source().verify({})).toMatchObject({ lines: 0, problems: [], head: undefined });
    });

    it("has the lines of all that write at the same time, each once, in one chain", async () => {
      const writers = [chain(), chain(), chain()];
      const written = await Promise.all(
        writers.flatMap((each, i) =>
          [1, 2, 3, 4].map((n) => each.append([line(`${i}.${n}a`), line(`${i}.${n}b`)], n % 2 === 0)),
        ),
      );
      expect(written.every(({ problem, written: count }) => problem === undefined && count === 2)).toBe(true);
      const all = await runs();
      expect(all).toHaveLength(24);
      expect(new Set(all).size).toBe(24);
      for (const run of all)
        if (String(run).endsWith("a")) expect(all).toContain(String(run).replace("a", "b"));
      const { seq, hash } = await kept();
      expect(await log.source().verify({})).toMatchObject({
        lines: 24,
        problems: [],
        head: `${seq}:${hash}`,
      });
    });

    it("misses a line that was removed, and one that was removed from its end", async () => {
      await write(5);
      const head = await kept();
      expect(await problems([head])).toBe("");
      await log.remove(2);
      expect(await problems()).toContain("line 2 is missing");
      await log.remove(5);
      expect(await problems([head])).toContain("line 5 is missing");
    });

    it("tells of a line that was changed, also of the last", async () => {
      await write(3);
      await log.replace(2, "r2", "rX");
      expect(await problems()).toMatch(/line 2.*was edited/);
      await log.replace(2, "rX", "r2");
      await log.replace(3, "r3", "rX");
      expect(await problems()).toMatch(/line 3 was edited/);
    });

    it("tells of lines that were put in another order", async () => {
      await write(4);
      await log.swap(2, 3);
      expect(await problems()).toMatch(/line [23] is (?:not in its place|missing)/);
    });

    it("is shown by what its lines say, and followed", async () => {
      await write(2);
      const stop = new AbortController();
      const following = log.source().following({ events: ["run"] }, stop.signal);
      const next = following.next();
      let isSeen = false;
      void next.then(() => {
        isSeen = true;
      });
      // What is written before it is first looked for is not new.
      while (!isSeen) {
        await chain().append([line("later")], true);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect((await next).value?.fields.run_id).toBe("later");
      stop.abort();
      await following.return(undefined);
      expect((await runs({ run: "later" })).length).toBeGreaterThan(0);
      expect(await runs({ principal: "x" })).toEqual([]);
    });

    it("is shown by a beginning, an end, and what its lines say of who did what where", async () => {
      const startMs = nowMs;
      const said = [
        { event: "run", run_id: "aa-1", principal: "p", user: "ada", outcome: "ok" },
        { event: "call", run_id: "aa-2", server: "files", tool: "mcp__files__read", decision: "allowed" },
        { event: "call", run_id: "b-aa", server: "web", tool: "mcp__web__get", decision: "denied" },
        { event: "run", run_id: "c", host: "desk", client: "claude", client_session: "s1-x", outcome: "ok" },
        { event: "run", run_id: "d", client_session: "x-s1", outcome: "ok" },
      ];
      for (const [index, members] of said.entries()) {
        const time = new Date(startMs + index * 1000).toISOString();
        await chain().append([`${JSON.stringify({ time, ...members })}\n`], true);
      }
      const [second, third] = [startMs + 1000, startMs + 2000];
      const cases: [filter: AuditFilter, shown: string[]][] = [
        [{}, ["aa-1", "aa-2", "b-aa", "c", "d"]],
        [{ sinceMs: third }, ["b-aa", "c", "d"]],
        [{ untilMs: third }, ["aa-1", "aa-2"]],
        [{ sinceMs: second, untilMs: third }, ["aa-2"]],
        [{ events: ["call", "access"] }, ["aa-2", "b-aa"]],
        [{ run: "aa" }, ["aa-1", "aa-2"]],
        [{ server: "web" }, ["b-aa"]],
        [{ tool: "mcp__files__*" }, ["aa-2"]],
        [{ tool: "*" }, ["aa-2", "b-aa"]],
        [{ decision: "allowed" }, ["aa-2"]],
        [{ principal: "p" }, ["aa-1"]],
        [{ user: "ada" }, ["aa-1"]],
        [{ host: "desk" }, ["c"]],
        [{ client: "claude" }, ["c"]],
        [{ clientSession: "s1" }, ["c"]],
        [{ isUnwanted: true }, ["b-aa"]],
        [{ run: "aa", server: "web" }, []],
      ];
      for (const [filter, shown] of cases) expect([filter, await runs(filter)]).toEqual([filter, shown]);
    });

    it("has a whole run of the log's own, whose last line is waited for", async () => {
      const audit = new AuditLog({
        ...{ path: join(folder, "none.jsonl"), clock: { wallMs: () => nowMs }, redact: (name) => name },
        chain: chain(),
        onFailure: (message) => expect.unreachable(message),
      });
      const call = { seq: 1, server: "s", tool: "mcp__s__t", argumentsDigest: "sha256:0" };
      expect(await audit.calling(RUN, { ...call, decision: "allowed" })).toBeUndefined();
      expect((await log.source().verify({})).lines).toBe(1);
      audit.run(RUN, ENDING);
      await audit.written(10_000);
      expect((await log.source().verify({})).lines).toBe(2);
      await audit.close();
    });
  });
}
