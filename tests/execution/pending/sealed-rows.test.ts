/** What waits, in rows that somebody who can write to the database has changed. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod/mini";
import { openPendingStore } from "../../../archive/open-archive.ts";
import type { PendingStore } from "../../../archive/pending-store.ts";
import { openPool } from "../../../archive/postgres/database.ts";
import { loadSqlite } from "../../../archive/sqlite/sqlite.ts";
import { PendingApprovals } from "../../../execution/pending/pending-approvals.ts";
import { PendingError } from "../../../execution/pending/tickets.ts";
import type { SuspendedRun } from "../../../execution/suspension/suspended-run.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { seal } from "../../../secrets/sealing.ts";
import { usePostgres, WITHOUT_POSTGRES } from "../../archive/postgres/server.ts";

const NOW = 1_700_000_000_000;
const [ADAS, EVES] = ["a".repeat(16), "e".repeat(16)];
const YES = { decision: "once", by: "a person" } as const;
const SECRET = "what ada's program has read";

interface Kind {
  store: () => PendingStore;
  /** Runs statements, of which each has its values. */
  edit: (sql: string, ...values: (string | number | Uint8Array)[]) => Promise<unknown>;
  columns: (table: string) => Promise<string[]>;
  tables: string[];
}

/** The columns by which nothing is decided that a program has read or a person has answered. */
const DECIDES_NOTHING = new Map([
  ["owner", "the process that goes on, which frees the row when it ends"],
  ["owner_seen", "when that process was last seen"],
  ["bytes", "bounds how much may wait"],
  ["gone", "set, the row is nothing; not set, all of it was removed"],
]);

describe.each([
  ["SQLite", "", sqlite],
  ["PostgreSQL", WITHOUT_POSTGRES, postgres()],
])("what waits, in rows of %s that somebody has changed,%s", (_, without, make) => {
  /** Two questions of two people: each is answered, and neither run has gone on. */
  async function waiting() {
    const kind = make();
    const folder = newFolder();
    const open = () =>
      new PendingApprovals({
        configuration: { directory: folder, approvals: { require: "any", expireMs: 60_000 } as never },
        env: { XDG_STATE_HOME: folder },
        clock: { wallMs: () => NOW },
        store: kind.store(),
      });
    const approvals = open();
    for (const [ticket, principal] of [
      [ADAS, "ada"],
      [EVES, "eve"],
    ] as const) {
      const context: RunContext = { principal, source: "serve" };
      const kept = await approvals.keep(context, runOf(principal), REQUEST, ticket);
      expect(kept).toMatchObject({ ok: true });
      const pending = await approvals.get(ticket);
      if (pending === undefined) throw new Error("nothing waits");
      expect(await approvals.answer(principal, pending, YES)).toBe(true);
    }
    return { ...kind, approvals: open(), key: () => readFileSync(join(folder, "ptc/approvals.key")) };
  }

  it.skipIf(without !== "")("have every column that decides bound to what they hold", async () => {
    const { columns, tables } = await waiting();
    const all = new Set((await Promise.all(tables.map(columns))).flat());
    expect([...all].filter((column) => !DECIDES_NOTHING.has(column)).sort()).toEqual(
      BOUND.filter((column) => all.has(column)).sort(),
    );
  });

  it.skipIf(without !== "").each(BOUND)("are refused with another row's %s", async (column) => {
    const { approvals, columns, edit, tables } = await waiting();
    const inTables = (await Promise.all(tables.map(columns))).flat();
    // In SQLite, what is listed stands in the column `question` of the one table, and the whole question in that of the other.
    if (!inTables.includes(column)) return;
    for (const table of tables) {
      if (!(await columns(table)).includes(column)) continue;
      // The ticket of a row names it, so that the other one makes room first.
      if (column === "ticket") {
        await edit(`DELETE FROM ${table} WHERE ticket = ?`, EVES);
        await edit(`UPDATE ${table} SET ticket = ? WHERE ticket = ?`, EVES, ADAS);
      } else if (column === "expires_at" || column === "asked_at")
        await edit(`UPDATE ${table} SET ${column} = ${column} + 1000`);
      else
        await edit(
          `UPDATE ${table} SET ${column} = (SELECT b.${column} FROM ${table} AS b WHERE b.ticket = ?) WHERE ticket = ?`,
          ...(column === "principal" ? [EVES, ADAS] : [ADAS, EVES]),
        );
    }
    const taken: string[] = [];
    for (const principal of ["ada", "eve"])
      for (const ticket of [ADAS, EVES]) {
        const run = await approvals.take({ principal }, ticket).catch((error: unknown) => {
          expect(error).toBeInstanceOf(PendingError);
          expect((error as Error).message).toMatch(/sealed with another key, or changed since/);
          return undefined;
        });
        if (run?.kind === "taken") taken.push(`${principal} ${ticket} ${run.resumed.run.program.fileName}`);
      }
    // Whoever may go on still does so with the own run alone.
    const own = [`ada ${ADAS} ada.ts`, `eve ${EVES} eve.ts`];
    expect(own).toEqual(expect.arrayContaining(taken));
    if (column !== "listing" && column !== "question") expect(taken.length).toBeLessThan(2);
    if (column === "run" || column === "answer") return;
    const shown = await Promise.allSettled([ADAS, EVES].map((ticket) => approvals.get(ticket)));
    expect(shown.some(({ status }) => status === "rejected")).toBe(true);
  });

  it.skipIf(without !== "")("are shown to nobody whom they were moved to, nor answered by them", async () => {
    const { approvals, edit } = await waiting();
    await edit("UPDATE pending SET principal = ? WHERE ticket = ?", "eve", ADAS);
    await expect(approvals.take({ principal: "eve" }, ADAS)).rejects.toThrow(PendingError);
    await expect(approvals.get(ADAS, "eve")).rejects.toThrow(PendingError);
    await expect(approvals.find("eve", ADAS.slice(0, 4))).rejects.toThrow(PendingError);
    await expect(approvals.list("eve")).rejects.toThrow(PendingError);
    await edit("UPDATE pending SET principal = ? WHERE ticket = ?", "ada", ADAS);
    expect(await approvals.take({ principal: "ada" }, ADAS)).toMatchObject({ kind: "taken" });
  });

  it.skipIf(without !== "")("are left out with one line where an earlier version kept them", async () => {
    const { approvals, columns, edit, key } = await waiting();
    const sealed = seal(key(), Buffer.from("{}"), `ptc approval 1 question ${ADAS}`);
    const listing = (await columns("pending")).includes("listing") ? "listing" : "question";
    await edit(`UPDATE pending SET ${listing} = ? WHERE ticket = ?`, sealed, ADAS);
    const lines: string[] = [];
    const listed = await approvals.list(undefined, (line) => lines.push(line));
    expect(listed.map(({ ticket }) => ticket)).toEqual([EVES]);
    const line = `what waits as ${ADAS} was kept by another version of ptc: run its program again`;
    expect(lines).toEqual([line]);
    await expect(approvals.get(ADAS)).rejects.toThrow(line);
  });
});

const BOUND = ["ticket", "principal", "asked_at", "expires_at", "listing", "question", "answer", "run"];

const REQUEST = {
  ...{ runId: "r", tool: "mcp__a__drop", definitionDigest: "d" },
  ...{ arguments: { table: "users" }, argumentsDigest: "e" },
};

function runOf(principal: string): SuspendedRun {
  return { program: { fileName: `${principal}.ts`, code: SECRET } } as never;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ptc-pending-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function sqlite(): Kind {
  const path = join(newFolder(), "approvals.db");
  const { DatabaseSync } = loadSqlite();
  const on = <T>(work: (db: InstanceType<typeof DatabaseSync>) => T): T => {
    const db = new DatabaseSync(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  return {
    store: () => openPendingStore(path, () => NOW),
    edit: async (sql, ...values) => on((db) => db.prepare(sql).run(...values)),
    columns: async (table) =>
      on((db) => db.prepare(`PRAGMA table_info(${table})`).all()).map(({ name }) => String(name)),
    // What is kept whole comes first: its rows go with those of the questions.
    tables: ["pending_content", "pending"],
  };
}

function postgres(): () => Kind {
  const server = WITHOUT_POSTGRES === "" ? usePostgres() : undefined;
  return () => {
    const url = server?.().url() ?? "";
    const on = async <T>(work: (db: Awaited<ReturnType<typeof openPool>>) => Promise<T>): Promise<T> => {
      const db = await openPool(url);
      try {
        return await work(db);
      } finally {
        await db.close();
      }
    };
    const numbered = (sql: string) => {
      let count = 0;
      return sql.replace(/\?/g, () => `$${++count}`);
    };
    return {
      store: () =>
        openPendingStore(
          "",
          () => NOW,
          async () => url,
        ),
      edit: (sql, ...values) => on((db) => db.run(numbered(sql), ...values)),
      columns: (table) =>
        on(async (db) => {
          const Column = z.object({ column_name: z.string() });
          const select = "SELECT column_name FROM information_schema.columns WHERE table_name = $1";
          return (await db.all(Column, select, table)).map(({ column_name }) => column_name);
        }),
      tables: ["pending"],
    };
  };
}
