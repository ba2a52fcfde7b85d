/** Runs, and what waits for approvals, in PostgreSQL: under the suites of every store. */
import { describe } from "vitest";
import type { ArchiveStore } from "../../../archive/archive-store.ts";
import {
  openArchive,
  openAuditChain,
  openAuditSource,
  openPendingStore,
} from "../../../archive/open-archive.ts";
import { openPool } from "../../../archive/postgres/database.ts";
import { type AuditKind, describeAudit } from "../audit/chain-contract.ts";
import { describePending } from "../pending-contract.ts";
import { describeSearch } from "../search-contract.ts";
import { describeStore, type StoreKind } from "../store-contract.ts";
import { memory } from "../store-kinds.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

describe.skipIf(WITHOUT_POSTGRES !== "")(`PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();
  const urls = new WeakMap<ArchiveStore, string>();
  const postgres: StoreKind<ArchiveStore> = {
    name: "PostgreSQL",
    open() {
      const url = server().url();
      const store = openArchive({ path: "", keepDays: 36_500, database: async () => url });
      urls.set(store, url);
      return store;
    },
    damage(store) {
      const edit = async (sql: string, ...values: (string | number | Buffer)[]) => {
        const db = await openPool(urls.get(store) ?? "");
        await db.run(sql, ...values);
        await db.close();
      };
      const bytesOf = (digest: string) => Buffer.from(digest.slice("sha256:".length), "hex");
      return {
        removeText: (digest) => edit("DELETE FROM blobs WHERE digest = $1", bytesOf(digest)),
        replaceText: (digest, json) =>
          edit(
            "UPDATE blobs SET content = $1, size = $2, codec = 0 WHERE digest = $3",
            ...[Buffer.from(json), Buffer.byteLength(json), bytesOf(digest)],
          ),
        removeRun: (runId) => edit("DELETE FROM runs WHERE run_id = $1", runId),
        setColumn: (runId, column, value) =>
          edit(`UPDATE runs SET ${column} = $1 WHERE run_id = $2`, value, runId),
      };
    },
  };

  describeSearch(postgres);
  describeStore(postgres, memory);
  const audit: AuditKind = {
    name: "PostgreSQL",
    make() {
      const url = server().url();
      const database = async () => url;
      const edit = async (sql: string, ...values: (string | number)[]) => {
        const db = await openPool(url);
        await db.run(sql, ...values);
        await db.close();
      };
      return {
        open: (options) => openAuditChain(database, options),
        source: () => openAuditSource("", database),
        remove: (seq) => edit("DELETE FROM audit_lines WHERE seq = $1", seq),
        replace: (seq, from, to) =>
          edit("UPDATE audit_lines SET line = replace(line, $2, $3) WHERE seq = $1", seq, from, to),
        async swap(one, other) {
          const exchange = "UPDATE audit_lines SET seq = $2 WHERE seq = $1";
          await edit(exchange, one, -1);
          await edit(exchange, other, one);
          await edit(exchange, -1, other);
        },
      };
    },
  };
  describeAudit(audit);
  describePending({
    name: "PostgreSQL",
    make: (now) => {
      const url = server().url();
      return () => openPendingStore("", now, async () => url);
    },
  });
});
