import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SqlitePendingStore } from "../../archive/sqlite/sqlite-pending-store.ts";
import { MemoryPendingStore } from "./memory-pending-store.ts";
import { describePending } from "./pending-contract.ts";

const nobody = () => false;

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "ptc-pending-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "approvals.db");
}

describePending({
  name: "SQLite",
  make: (now) => {
    const path = newFile();
    return () => new SqlitePendingStore(path, now);
  },
});
describePending({
  name: "memory",
  make: (now) => {
    const store = new MemoryPendingStore(now);
    return () => store;
  },
});

it("nothing is made by looking for what waits where nothing was ever kept", async () => {
  const path = newFile();
  const store = new SqlitePendingStore(path, () => 1_000);
  await store.list("p");
  await store.withdraw("t", "one");
  await store.claim("t", "p", "one", nobody);
  expect(existsSync(path)).toBe(false);
});

it("what an earlier version kept is listed, found and claimed, and goes with its content", async () => {
  const path = newFile();
  const { DatabaseSync } = await import("node:sqlite");
  const old = new DatabaseSync(path);
  old.exec(`CREATE TABLE pending (ticket TEXT PRIMARY KEY, principal TEXT NOT NULL, asked_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL, question BLOB NOT NULL, answer BLOB, run BLOB, owner TEXT) STRICT;
    INSERT INTO pending VALUES ('t', 'p', 1, 2000, x'71', x'61', x'72', NULL);
    INSERT INTO pending VALUES ('live', 'p', 2, 2000, x'71', NULL, NULL, 'one');
    PRAGMA user_version = 1`);
  old.close();
  const store = new SqlitePendingStore(path, () => 1_000);
  const bytes = (text: string) => new Uint8Array(Buffer.from(text));
  expect(await store.list("p")).toMatchObject([
    { ticket: "t", listing: bytes("q"), answer: bytes("a"), isKept: true },
    { ticket: "live", listing: bytes("q"), owner: "one", isKept: false },
  ]);
  expect(await store.question("t")).toEqual(bytes("q"));
  expect(await store.claim("t", "p", "one", nobody)).toEqual({
    ...{ kind: "claimed", run: bytes("r"), answer: bytes("a") },
  });
  expect(await store.remove("t", "one")).toBe(true);
  expect([await store.row("t"), await store.question("t")]).toEqual([undefined, undefined]);
});
