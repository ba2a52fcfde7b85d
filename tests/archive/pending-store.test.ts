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
