import { join } from "node:path";
import type { SQLInputValue } from "node:sqlite";
import { loadSqlite } from "../../archive/sqlite/sqlite.ts";
import { SqliteArchiveStore } from "../../archive/sqlite/sqlite-archive-store.ts";
import { MemoryStore } from "./memory-store.ts";
import type { StoreKind } from "./store-contract.ts";

export const sqlite: StoreKind<SqliteArchiveStore> = {
  name: "SQLite",
  open: (folder) => new SqliteArchiveStore({ path: join(folder, "archive.db"), keepDays: 36_500 }),
  damage(_, folder) {
    const edit = (sql: string, ...values: SQLInputValue[]) => {
      const db = new (loadSqlite().DatabaseSync)(join(folder, "archive.db"));
      db.exec("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF");
      db.prepare(sql).run(...values);
      db.close();
    };
    const bytesOf = (digest: string) => Buffer.from(digest.slice("sha256:".length), "hex");
    return {
      removeText: (digest) => edit("DELETE FROM blobs WHERE digest = ?", bytesOf(digest)),
      replaceText: (digest, json) =>
        edit(
          "UPDATE blobs SET content = ?, size = ?, codec = 0 WHERE digest = ?",
          ...[Buffer.from(json), Buffer.byteLength(json), bytesOf(digest)],
        ),
      removeRun: (runId) => edit("DELETE FROM runs WHERE run_id = ?", runId),
      setColumn: (runId, column, value) =>
        edit(`UPDATE runs SET ${column} = ? WHERE run_id = ?`, value, runId),
    };
  },
};

export const memory: StoreKind<MemoryStore> = {
  name: "memory",
  open: () => new MemoryStore(),
  damage: (store) => ({
    removeText: (digest) => void store.texts.delete(digest),
    replaceText: (digest, json) => void store.texts.set(digest, json),
    removeRun: (runId) => store.remove(runId),
    setColumn: (runId, column, value) => void Object.assign(store.rowOf(runId).columns, { [column]: value }),
  }),
};
