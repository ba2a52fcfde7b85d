import { describe, expect, it } from "vitest";
import type { PendingStore } from "../../archive/pending-store.ts";

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const QUESTION = {
  principal: "p",
  askedAt: 1_000,
  expiresAt: 2_000,
  listing: bytes("l"),
  question: bytes("q"),
};
const ROW = { ...QUESTION, run: bytes("r") };
const most = (runs: number, bytes = 1_000) => ({ runs, bytes });
const nobody = () => false;

/** Makes something that several processes share, and opens it as one of them does. */
export interface PendingKind {
  name: string;
  make: (now: () => number) => () => PendingStore;
}

/** What every `PendingStore` promises, asserted of one. */
export function describePending({ name, make }: PendingKind): void {
  describe(`what waits for an approval, kept by ${name},`, () => {
    it("survives a process that ends at any step, and goes live once", async () => {
      const open = make(() => 1_000);
      expect(await open().keep({ ticket: "t", ...ROW }, most(9))).toBe("kept");
      expect(await open().claim("t", "p", "one", nobody)).toEqual({ kind: "unanswered" });
      expect(await open().answer("t", "p", bytes("yes"))).toBe(true);
      // Ended after the answer: another claims it. Ended after the claim: the next does.
      const claimed = { kind: "claimed", run: bytes("r"), answer: bytes("yes") };
      expect(await open().claim("t", "p", "one", nobody)).toEqual(claimed);
      expect(await open().claim("t", "p", "two", nobody)).toEqual({ kind: "taken" });
      expect(await open().claim("t", "p", "two", (owner) => owner === "one")).toEqual(claimed);
      // The one that was thought dead cannot go live any more, nor give back what is not its own.
      expect(await open().remove("t", "one")).toBe(false);
      await open().release("t", "one");
      expect(await open().claim("t", "p", "three", nobody)).toEqual({ kind: "taken" });
      await open().release("t", "two");
      expect(await open().claim("t", "p", "two", nobody)).toEqual(claimed);
      expect(await open().remove("t", "two")).toBe(true);
      // Ended after that: nobody can go on, so nothing is called twice.
      expect(await open().claim("t", "p", "three", () => true)).toEqual({ kind: "unknown" });
    });

    it("is claimed by one of several that want it at the same time, and by none of another principal", async () => {
      const open = make(() => 1_000);
      await open().keep({ ticket: "t", ...ROW }, most(9));
      await open().answer("t", "p", bytes("yes"));
      expect(await open().claim("t", "q", "stranger", nobody)).toEqual({ kind: "unknown" });
      const owners = ["one", "two", "three", "four"];
      const claims = await Promise.all(owners.map((owner) => open().claim("t", "p", owner, nobody)));
      expect(claims.map(({ kind }) => kind).sort()).toEqual(["claimed", "taken", "taken", "taken"]);
    });

    it("has the first answer only, and none of another principal", async () => {
      const open = make(() => 1_000);
      await open().keep({ ticket: "t", ...ROW }, most(9));
      expect(await open().answer("t", "q", bytes("no"))).toBe(false);
      const given = await Promise.all(["yes", "no"].map((text) => open().answer("t", "p", bytes(text))));
      expect(given.filter(Boolean)).toHaveLength(1);
      expect(await open().answer("t", "p", bytes("no"))).toBe(false);
      await open().keep({ ticket: "u", ...ROW, principal: "q" }, most(9));
      const ticketsOf = async (whose?: string) => (await open().list(whose)).map(({ ticket }) => ticket);
      expect([await ticketsOf("p"), await ticketsOf("q"), await ticketsOf()]).toEqual([
        ["t"],
        ["u"],
        ["t", "u"],
      ]);
      const [row] = await open().list("p");
      expect(row).toMatchObject({
        ticket: "t",
        answer: bytes(given[0] ? "yes" : "no"),
        owner: null,
        isKept: true,
      });
      const { question, ...asked } = QUESTION;
      expect(row).toMatchObject(asked);
      expect(await open().question("t")).toEqual(question);
      expect(await open().list("z")).toEqual([]);
    });

    it("is listed with the oldest first, and bounded for each principal", async () => {
      const open = make(() => 1_000);
      expect(await open().keep({ ticket: "b", ...ROW, askedAt: 900 }, most(2))).toBe("kept");
      expect(await open().keep({ ticket: "a", ...ROW, askedAt: 900 }, most(2))).toBe("kept");
      expect(await open().keep({ ticket: "c", ...ROW }, most(2))).toBe("too_many");
      expect(await open().keep({ ticket: "c", ...ROW, principal: "q" }, most(2))).toBe("kept");
      await open().offer({ ticket: "d", ...QUESTION, askedAt: 800, owner: "one" }, most(9));
      expect((await open().list("p")).map(({ ticket, isKept }) => [ticket, isKept])).toEqual([
        ["d", false],
        ["a", true],
        ["b", true],
      ]);
    });

    it("is bounded in bytes of whole questions for each principal", async () => {
      const open = make(() => 1_000);
      const large = { ...ROW, question: new Uint8Array(400) };
      expect(await open().keep({ ticket: "a", ...large }, most(9))).toBe("kept");
      const { run: _, ...question } = large;
      expect(await open().offer({ ticket: "b", ...question, owner: "one" }, most(9))).toBe("kept");
      expect(await open().keep({ ticket: "c", ...large }, most(9))).toBe("too_large");
      expect(await open().offer({ ticket: "c", ...question, owner: "one" }, most(9))).toBe("too_large");
      expect(await open().keep({ ticket: "c", ...large, principal: "q" }, most(9))).toBe("kept");
      await open().withdraw("b", "one");
      expect(await open().keep({ ticket: "d", ...large }, most(9))).toBe("kept");
    });

    it("is found by its ticket, with its question apart, and leaves neither when it is gone", async () => {
      let nowMs = 1_000;
      const open = make(() => nowMs);
      await open().keep({ ticket: "t", ...ROW }, most(9));
      await open().offer({ ticket: "u", ...QUESTION, owner: "one" }, most(9));
      expect(await open().row("t")).toMatchObject({ ticket: "t", listing: bytes("l"), isKept: true });
      expect(await open().row("u")).toMatchObject({ ticket: "u", owner: "one", isKept: false });
      expect(await open().question("u")).toEqual(bytes("q"));
      expect([await open().row("v"), await open().question("v")]).toEqual([undefined, undefined]);
      await open().withdraw("u", "one");
      expect([await open().row("u"), await open().question("u")]).toEqual([undefined, undefined]);
      nowMs = 2_000;
      expect([await open().row("t"), await open().question("t")]).toEqual([undefined, undefined]);
    });

    it("is gone when it has expired", async () => {
      let nowMs = 1_999;
      const open = make(() => nowMs);
      await open().keep({ ticket: "t", ...ROW }, most(9));
      expect(await open().list("p")).toHaveLength(1);
      nowMs = 2_000;
      expect(await open().list("p")).toEqual([]);
      expect(await open().answer("t", "p", bytes("yes"))).toBe(false);
      expect(await open().claim("t", "p", "one", nobody)).toEqual({ kind: "unknown" });
    });

    it("is only a question while its run has its sandbox, and its owner alone takes that back", async () => {
      const open = make(() => 1_000);
      await open().offer({ ticket: "t", ...QUESTION, owner: "one" }, most(9));
      expect(await open().offered("t", "one")).toBeUndefined();
      expect(await open().claim("t", "p", "two", nobody)).toEqual({ kind: "live" });
      expect(await open().answer("t", "p", bytes("yes"))).toBe(true);
      expect(await open().offered("t", "two")).toBeUndefined();
      expect(await open().offered("t", "one")).toEqual(bytes("yes"));
      expect(await open().withdraw("t", "two")).toBeUndefined();
      expect(await open().withdraw("t", "one")).toEqual(bytes("yes"));
      expect(await open().withdraw("t", "one")).toBeUndefined();
      expect(await open().list("p")).toEqual([]);
    });

    it("leaves a run that its owner goes on with alone, when that withdraws a question", async () => {
      const open = make(() => 1_000);
      await open().keep({ ticket: "t", ...ROW }, most(9));
      await open().answer("t", "p", bytes("yes"));
      await open().claim("t", "p", "one", nobody);
      expect(await open().withdraw("t", "one")).toBeUndefined();
      expect(await open().offered("t", "one")).toBeUndefined();
      expect(await open().list("p")).toHaveLength(1);
    });

    it("is nothing before anything was kept", async () => {
      const open = make(() => 1_000);
      expect(await open().list("p")).toEqual([]);
      expect(await open().withdraw("t", "one")).toBeUndefined();
      expect(await open().answer("t", "p", bytes("yes"))).toBe(false);
      expect(await open().claim("t", "p", "one", nobody)).toEqual({ kind: "unknown" });
      expect(await open().remove("t", "one")).toBe(false);
    });
  });
}
