import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { PendingStore } from "../../../../archive/sqlite/pending/pending-store.ts";

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const ROW = { principal: "p", askedAt: 1_000, expiresAt: 2_000, question: bytes("q"), run: bytes("r") };

/** Opens a store as processes do that share one file. */
function newFile(): (nowMs?: number) => PendingStore {
  const folder = mkdtempSync(join(tmpdir(), "ptc-pending-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return (nowMs = 1_000) => {
    const store = PendingStore.open(join(folder, "approvals.db"), nowMs);
    onTestFinished(() => store.close());
    return store;
  };
}

describe("runs that wait for an approval", () => {
  it("survive a process that ends at any step, and go live once", () => {
    const open = newFile();
    open().add({ ticket: "t", ...ROW });
    expect(open().claim("t", "p", "one", () => false)).toEqual({ kind: "unanswered" });
    expect(open().answer("t", "p", bytes("yes"))).toBe(true);
    // Ended after the answer: another claims it. Ended after the claim: the next does.
    expect(open().claim("t", "p", "one", () => false)).toMatchObject({ kind: "claimed" });
    expect(open().claim("t", "p", "two", () => false)).toEqual({ kind: "taken" });
    expect(open().claim("t", "p", "two", (owner) => owner === "one")).toMatchObject({ kind: "claimed" });
    // The one that was thought dead cannot go live any more.
    expect(open().remove("t", "one")).toBe(false);
    expect(open().remove("t", "two")).toBe(true);
    // Ended after that: nobody can go on, so nothing is called twice.
    expect(open().claim("t", "p", "three", () => true)).toEqual({ kind: "unknown" });
  });

  it("take the first answer only, and none of another principal", () => {
    const open = newFile();
    open().add({ ticket: "t", ...ROW });
    expect(open().answer("t", "q", bytes("no"))).toBe(false);
    expect(open().answer("t", "p", bytes("yes"))).toBe(true);
    expect(open().answer("t", "p", bytes("no"))).toBe(false);
    expect(open().list("p")).toMatchObject([{ ticket: "t", answer: bytes("yes") }]);
    expect(open().list("q")).toEqual([]);
  });

  it("are gone when they have expired", () => {
    const open = newFile();
    open().add({ ticket: "t", ...ROW });
    expect(open(1_999).list("p")).toHaveLength(1);
    expect(open(2_000).list("p")).toEqual([]);
    expect(open().answer("t", "p", bytes("yes"))).toBe(false);
  });

  it("are not there to be gone on with while they have their sandbox: then their question alone is, and its owner takes it back", () => {
    const open = newFile();
    const { run: _, ...question } = ROW;
    open().offer({ ticket: "t", ...question, owner: "one" });
    expect(open().claim("t", "p", "two", () => false)).toEqual({ kind: "live" });
    expect(open().answer("t", "p", bytes("yes"))).toBe(true);
    expect(open().offered("t", "two")).toBeUndefined();
    expect(open().withdraw("t", "two")).toBeUndefined();
    expect(open().withdraw("t", "one")).toEqual(bytes("yes"));
    expect(open().list("p")).toEqual([]);
  });
});
