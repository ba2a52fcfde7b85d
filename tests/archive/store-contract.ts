import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ArchiveStore, allRuns } from "../../archive/archive-store.ts";
import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { RunFilter } from "../../archive/listed-run.ts";
import { readRunFile, writeRunFile } from "../../archive/portable/run-files.ts";
import { digestsIn } from "../../archive/run-record.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { archiveRun, parseHead } from "./made-archives.ts";
import { type SampleOptions, sampleCall, sampleRun } from "./sample-runs.ts";

const DAY_MS = 86_400_000;
const NOON = Date.UTC(2030, 0, 2, 12);
const DEEPER_THAN_KEPT = `${"[".repeat(2_000)}${"]".repeat(2_000)}`;

/** A kind of store, and how somebody damages what it keeps. */
export interface StoreKind<Store extends ArchiveStore> {
  name: string;
  /** Opens an archive of its own in a new folder, in which nothing was archived yet. */
  open(folder: string): Store;
  damage(store: Store, folder: string): Damage;
}

interface Damage {
  removeText(digest: string): void | Promise<void>;
  replaceText(digest: string, json: string): void | Promise<void>;
  /** Removes a run as somebody would who does not know of the chain. */
  removeRun(runId: string): void | Promise<void>;
  setColumn(runId: string, column: string, value: string | number): void | Promise<void>;
}

/** What every `ArchiveStore` promises, asserted of one. `other` is another kind, to exchange runs with. */
export function describeStore<Store extends ArchiveStore>(
  kind: StoreKind<Store>,
  other: StoreKind<ArchiveStore>,
): void {
  describe(`an archive that is kept by ${kind.name}`, () => {
    let folder: string;
    let archive: Store;
    let damage: Damage;
    const opened: ArchiveStore[] = [];
    const another = <S extends ArchiveStore>(how: StoreKind<S>) => {
      const store = how.open(mkdtempSync(join(folder, "archive-")));
      opened.push(store);
      return store;
    };
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), "ptc-store-"));
      const own = mkdtempSync(join(folder, "own-"));
      archive = kind.open(own);
      opened.push(archive);
      damage = kind.damage(archive, own);
    });
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
      rmSync(folder, { recursive: true });
    });

    const idsOf = async (filter: RunFilter, pageSize?: number) => {
      const ids: string[] = [];
      const refuse = ({ message }: { message: string }) => expect.unreachable(message);
      for await (const { run_id: runId } of allRuns(archive, filter, refuse, pageSize)) ids.push(runId);
      return ids;
    };

    it("is not there before its first run, and is not made by who looks for it", async () => {
      const missing = { code: "missing" };
      for (let i = 0; i < 2; i++) {
        expect(await archive.exists()).toBe(false);
        await expect(archive.list({ limit: 1 })).rejects.toMatchObject(missing);
        await expect(archive.find("0123abcd")).rejects.toMatchObject(missing);
        await expect(archive.stats({})).rejects.toMatchObject(missing);
        await expect(archive.verify()).rejects.toMatchObject(missing);
        await expect(archive.prune({ beforeMs: 1, nowMs: 2 })).rejects.toMatchObject(missing);
        await expect(archive.delete(["x"], 2)).rejects.toMatchObject(missing);
      }
      await keep(archive, {});
      expect(await archive.exists()).toBe(true);
    });

    it("lists the runs of one principal, however long its name is", async () => {
      const own = randomBytes(2_047).toString("hex");
      const { run } = await keep(archive, { principal: own });
      await keep(archive, { principal: `${own} ` });
      await keep(archive, {});
      expect(await idsOf({ principal: own })).toEqual([run.facts.run_id]);
      expect(await idsOf({ principal: `${own}0` })).toEqual([]);
    });

    it("gives a run back as it was handed over, and each value when it is asked for", async () => {
      const { run, calls, result } = await keep(archive, {
        calls: 3,
        answer: (seq) => ({ z: 1, a: [seq] }),
        stderrText: "logged",
      });
      const read = await archive.read(run.facts.run_id);
      expect(result).toEqual({ ok: true, recordDigest: read.recordDigest });
      expect(digestOf(read.record)).toBe(read.recordDigest);
      expect(read.record).toMatchObject(run.facts);
      expect(read).toMatchObject({
        code: run.code,
        data: JSON.parse(run.dataJson),
        consoleText: run.consoleText,
        stderrText: "logged",
        envelope: run.envelope,
        environment: JSON.parse(run.environmentJson),
        modules: new Map([["math", "export const add = 1;\n"]]),
        importedAt: null,
        origin: null,
      });
      for (const [index, call] of read.record.calls.entries()) {
        expect(await read.argumentsOf(call)).toEqual({ a: 1, b: index });
        expect(JSON.stringify(await read.outcomeOf(call))).toBe(calls[index]?.outcomeJson);
        expect(await read.textOf(call.outcome)).toBe(calls[index]?.outcomeJson);
      }
      await expect(read.textOf(`sha256:${"0".repeat(64)}`)).rejects.toMatchObject({ code: "tampered" });
      await expect(archive.read(randomUUID())).rejects.toMatchObject({ code: "missing" });
    });

    it("gives runs in the order in which they were archived, from where somebody left off", async () => {
      await expect(archive.following(0, 10)).rejects.toMatchObject({ code: "missing" });
      const made = [
        await keep(archive, { startedAt: NOON + 5, tool: "mcp__math__add" }),
        await keep(archive, { startedAt: NOON, calls: 0, source: "replay" }),
        await keep(archive, { startedAt: NOON + 1, tool: "mcp__git__log" }),
      ].map(({ run }) => run.facts.run_id);
      const { runs: first, newest } = await archive.following(0, 2);
      expect(first.map(({ runId }) => runId)).toEqual(made.slice(0, 2));
      expect(first.map(({ source, tools }) => [source, tools])).toEqual([
        ["run", ["mcp__math__add"]],
        ["replay", []],
      ]);
      const { runs: rest } = await archive.following(first.at(-1)?.position ?? 0, 2);
      expect(rest.map(({ runId, position }) => [runId, position])).toEqual([[made[2], newest]]);
      expect(await archive.following(newest, 2)).toEqual({ runs: [], newest });
    });

    it("keeps a run one of whose values cannot be kept, and says so", async () => {
      const { run, calls } = sampleRun({ calls: 0 });
      const recording = archive.begin(run.facts.run_id);
      await recording.addCall({ ...sampleCall(0, 1), argumentsJson: DEEPER_THAN_KEPT });
      expect(calls).toEqual([]);
      expect(await recording.finish(run)).toMatchObject({ ok: true });
      const read = await archive.read(run.facts.run_id);
      const [call] = read.record.calls;
      expect(call?.unkept).toMatch(/nests deeper/);
      expect(call && (await read.argumentsOf(call))).toBeNull();
    });

    it("refuses a run that no reader would accept, in one line, and nothing of it is left", async () => {
      await keep(archive, {});
      const before = await archive.verify();
      const { run } = sampleRun({ calls: 0 });
      const others = { ...run, envelope: { ...run.envelope, run_id: randomUUID() } };
      const result = await archive.begin(run.facts.run_id).finish(others);
      expect(result).toEqual({ ok: false, message: expect.stringMatching(/^[^\n]*another run's$/) });
      expect(await archive.verify()).toEqual(before);
    });

    it("forgets old runs and named ones with what only they held, and stays one unbroken chain", async () => {
      const answer = () => "shared ".repeat(100);
      const ids: string[] = [];
      for (const day of [0, 1, 2, 3]) {
        const { run } = await keep(archive, { startedAt: NOON + day * DAY_MS, answer, code: `run(${day})` });
        ids.push(run.facts.run_id);
      }
      const { runs } = await archive.verify();
      expect(runs).toBe(4);
      expect(await archive.prune({ beforeMs: NOON + DAY_MS, nowMs: NOON })).toMatchObject({ runs: 1 });
      expect(await archive.delete([ids[2] ?? "", randomUUID()], NOON)).toMatchObject({ runs: 1 });
      expect(await archive.verify()).toMatchObject({ runs: 2, pruned: 1, problems: [] });
      expect(await idsOf({})).toEqual([ids[3], ids[1]]);
      const read = await archive.read(ids[3] ?? "");
      for (const call of read.record.calls)
        expect(await read.outcomeOf(call)).toMatchObject({ data: answer() });
      const everything = { beforeMs: Number.POSITIVE_INFINITY, nowMs: NOON };
      const pruned = await archive.prune(everything);
      expect(pruned).toMatchObject({ runs: 2 });
      expect(pruned.bytes).toBeGreaterThan(0);
      expect(await archive.verify()).toMatchObject({ runs: 0, blobs: 0, pruned: 0, problems: [] });
      const head = await archive.head();
      expect((await archive.verify()).head).toBe(head);
      expect((await archive.verify([parseHead(head)])).problems).toEqual([]);
      expect((await archive.verify([{ link: `sha256:${"0".repeat(64)}` }])).problems).not.toEqual([]);
    });

    describe("that somebody has damaged", () => {
      let runIds: string[];
      let victim: ArchivedRun;
      beforeEach(async () => {
        runIds = [];
        for (const code of ["one", "two", "three"])
          runIds.push((await keep(archive, { code, answer: (seq) => `${code} ${seq}` })).run.facts.run_id);
        victim = await archive.read(runIds[1] ?? "");
      });

      const call = () => victim.record.calls[0]?.outcome ?? "";
      const cases: [name: string, change: (runId: string) => void | Promise<void>, message: RegExp][] = [
        [
          "a text",
          () => damage.replaceText(victim.record.code, '"else"'),
          /the code does not match its digest/,
        ],
        ["no text", () => damage.removeText(victim.record.envelope), /the envelope is missing/],
        [
          "an outcome",
          () => damage.replaceText(call(), "{}"),
          /call 1 \(mcp__math__add\): the outcome blob does not match/,
        ],
        [
          "a record",
          () => damage.replaceText(victim.recordDigest, "{}"),
          /the record does not match its digest/,
        ],
        ["a column", (id) => damage.setColumn(id, "title", "x"), /the column title differs from the record/],
        ["a number", (id) => damage.setColumn(id, "calls", -1), /calls/],
      ];
      it.each(cases)(
        "names the run of which it holds %s that was not archived, and no other",
        async (_, change, message) => {
          const [first = "", bad = "", last = ""] = runIds;
          await change(bad);
          await expect(archive.read(bad)).rejects.toMatchObject({
            code: "tampered",
            message: expect.stringMatching(message),
          });
          const { problems, runs } = await archive.verify();
          expect(runs).toBe(3);
          expect(problems).toEqual([expect.stringMatching(message)]);
          expect(problems[0]).toContain(`run ${bad} is not as it was archived`);
          for (const runId of [first, last]) expect((await archive.read(runId)).record.run_id).toBe(runId);
          const { runs: listed, damaged } = await archive.list({ limit: 10 });
          const ids = [...listed.map(({ run_id }) => run_id), ...damaged.map(({ runId }) => runId)];
          expect(ids.sort()).toEqual([...runIds].sort());
          const exported = await writeRunFile(archive, runIds, join(folder, "sound.ptc"));
          expect(exported).toMatchObject({ exported: [first, last], damaged: [{ runId: bad }] });
          expect(await archive.findIds(bad)).toEqual([bad]);
          expect(await archive.delete([bad], NOON)).toMatchObject({ runs: 1 });
          expect((await archive.verify()).runs).toBe(2);
        },
      );

      it("names a run that cannot be listed, on its page, and finds it by its id alone to delete it", async () => {
        const [first = "", bad = "", last = ""] = runIds;
        await damage.setColumn(bad, "duration_ms", -1);
        const { runs, damaged } = await archive.list({ limit: 10 });
        expect(runs.map(({ run_id }) => run_id).sort()).toEqual([first, last].sort());
        expect(damaged).toEqual([
          {
            runId: bad,
            message: expect.stringMatching(/its row holds a wrong duration_ms; do not trust it$/),
          },
        ]);
        await expect(archive.find(bad)).rejects.toMatchObject({ code: "tampered" });
        expect(await archive.stats({})).toMatchObject({ runs: 2, undated: 1 });
      });

      it("misses a run that was removed and not pruned, and tells by a head that was kept whether its end was cut off", async () => {
        const kept = parseHead(await archive.head());
        expect(await archive.verify([kept])).toMatchObject({ problems: [], notes: [] });
        await damage.removeRun(runIds[1] ?? "");
        expect((await archive.verify([kept])).problems).toContain("record 2 is missing");
        await expect(archive.read(runIds[1] ?? "")).rejects.toMatchObject({ code: "missing" });
        expect((await archive.verify([{ id: 9, link: kept.link }])).problems).toContain(
          "records 4 to 9 are missing",
        );
        expect((await archive.verify([{ ...kept, link: `sha256:${"0".repeat(64)}` }])).problems).toContain(
          "record 3 is not the one whose head was kept: the chain was written anew",
        );
      });

      it("says in its chain what was pruned, so that nothing else passes for pruned", async () => {
        await archive.delete([runIds[1] ?? ""], NOON);
        expect(await archive.verify()).toMatchObject({ runs: 2, pruned: 1, problems: [] });
        await archive.delete([runIds[0] ?? ""], NOON);
        // Nothing is left before the third: the chain starts there.
        expect(await archive.verify()).toMatchObject({ runs: 1, pruned: 0, problems: [] });
        expect((await archive.verify([{ id: 1, link: "sha256:x" }])).notes).toContain(
          "record 1 was pruned, and can no longer be compared",
        );
        await damage.removeRun(runIds[2] ?? "");
        expect((await archive.verify()).problems).toContain("record 3 is missing");
      });
    });

    it("keeps calls while a run goes on, and nothing of a run that is given up", async () => {
      const [kept, dropped] = [sampleRun({ calls: 0 }), sampleRun({ calls: 0 })];
      // Random, so that they stay large.
      const large = (seq: number) => sampleCall(seq, randomBytes(1_000_000).toString("base64"));
      const [going, givenUp] = [kept, dropped].map(({ run }) => archive.begin(run.facts.run_id));
      for (let seq = 0; seq < 6; seq++) {
        await going?.addCall(large(seq));
        await givenUp?.addCall(large(seq + 10));
      }
      givenUp?.discard();
      await keep(archive, { code: "another meanwhile" });
      expect(await going?.finish(kept.run)).toMatchObject({ ok: true });
      expect((await archive.read(kept.run.facts.run_id)).record.calls).toHaveLength(6);
      await archive.close();
      expect(await archive.verify()).toMatchObject({ runs: 2, problems: [] });
      expect(await idsOf({})).not.toContain(dropped.run.facts.run_id);
    });

    it("exchanges runs with another kind of archive, the same in every byte, there and back", async () => {
      for (const code of ["one", "two"]) await keep(archive, { code, startedAt: NOON });
      const ids = await idsOf({});
      const there = another(other);
      const [out, back] = [join(folder, "out.ptc"), join(folder, "back.ptc")];
      expect(await writeRunFile(archive, ids, out)).toEqual({ exported: ids, damaged: [] });
      const taken = { imported: ids, skipped: [], refused: [] };
      expect(await readRunFile(there, out, NOON)).toEqual(taken);
      expect(await readRunFile(there, out, NOON)).toEqual({ ...taken, imported: [], skipped: ids });
      expect(await there.verify()).toMatchObject({ runs: 2, problems: [] });
      await writeRunFile(there, ids, back);
      const home = another(kind);
      expect(await readRunFile(home, back, NOON)).toEqual(taken);
      for (const runId of ids) {
        const [before, after] = [await archive.read(runId), await home.read(runId)];
        expect(after).toMatchObject({ importedAt: NOON, origin: "back.ptc" });
        expect(after.record).toEqual(before.record);
        for (const call of before.record.calls)
          expect(await after.textOf(call.outcome)).toBe(await before.textOf(call.outcome));
      }
      expect(await home.verify()).toMatchObject({ runs: 2, problems: [] });
    });

    it("says of a run that was taken in where it came from, whatever characters that has", async () => {
      const there = another(other);
      const { run } = await keep(there, { code: "theirs" });
      const { record, recordDigest, textOf } = await there.read(run.facts.run_id);
      const origin = { importedAt: NOON, origin: "a\0b\ue000E\ue0000 c" };
      const taking = await archive.beginImport(origin);
      for (const digest of digestsIn(record)) await taking.addText(await textOf(digest));
      expect(await taking.addRun(record, recordDigest)).toEqual({ kind: "added" });
      await taking.end();
      expect(await archive.read(run.facts.run_id)).toMatchObject({ ...origin, record });
      expect(await archive.verify()).toMatchObject({ runs: 1, problems: [] });
    });

    it("takes in nothing where another run is here under the same id", async () => {
      const { run } = await keep(archive, { code: "mine" });
      const there = another(other);
      await keep(there, { code: "theirs", runId: run.facts.run_id });
      const file = join(folder, "theirs.ptc");
      await writeRunFile(there, [run.facts.run_id], file);
      const before = await archive.verify();
      await expect(readRunFile(archive, file, NOON)).rejects.toMatchObject({ code: "conflict" });
      expect(await archive.verify()).toEqual(before);
    });
  });
}

async function keep(archive: ArchiveStore, options: SampleOptions) {
  const sample = sampleRun({ ...options, code: options.code ?? "run()" });
  const result = await archiveRun(archive, sample);
  expect(result).toMatchObject({ ok: true });
  return { ...sample, result };
}
