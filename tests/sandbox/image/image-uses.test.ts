import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ImageUses, pruneImages } from "../../../sandbox/image/image-uses.ts";
import type { ListedImage } from "../../../sandbox/sandbox-engine.ts";
import { newFolder } from "../../temporary-folder.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOW = Date.UTC(2026, 0, 31);
const [OLD, RECENT, OTHERS] = ["1", "2", "3"].map((digit) => `ptc-runner:${digit.repeat(12)}`) as [
  string,
  string,
  string,
];
const [BASE, OLD_BASE] = ["a", "b"].map((digit) => `ptc-base:debian-12-node24.1.0-${digit.repeat(12)}`);

function usesWith(daysAgo: Record<string, number>): ImageUses {
  const uses = new ImageUses(join(newFolder(), "images"));
  for (const [reference, days] of Object.entries(daysAgo)) uses.note(reference, NOW - days * DAY_MS);
  return uses;
}

function storeWith(images: readonly ListedImage[], used: readonly string[] = []) {
  const removed: string[] = [];
  return {
    removed,
    listOwn: async () => [...images],
    async remove(reference: string) {
      if (used.includes(reference)) throw new Error("a sandbox uses it");
      removed.push(reference);
    },
  };
}

const listed = (reference: string, base?: string): ListedImage => ({ reference, bytes: 1, base });

test("an image that no project has used for long is removed, with the base that only it has", async () => {
  const uses = usesWith({ [OLD]: 31, [RECENT]: 29 });
  const images = [listed(OLD, OLD_BASE), listed(RECENT, BASE), listed(BASE ?? ""), listed(OLD_BASE ?? "")];
  const store = storeWith(images);
  await pruneImages({ store, uses, unusedDays: 30, now: NOW });
  expect(store.removed).toEqual([OLD, OLD_BASE]);
  expect([uses.lastUse(OLD), uses.lastUse(RECENT)]).toEqual([undefined, NOW - 29 * DAY_MS]);
});

test("an image that two engines have is removed once, and reported once", async () => {
  const uses = usesWith({ [OLD]: 31 });
  const store = storeWith([listed(OLD), listed(OLD), listed(OTHERS), listed(OTHERS)]);
  const { removed, kept } = await pruneImages({ store, uses, unusedDays: 30, now: NOW });
  expect(store.removed).toEqual([OLD]);
  expect([removed.length, kept.length]).toEqual([1, 1]);
});

test("a base stays while another image is made of it", async () => {
  const store = storeWith([listed(OLD, BASE), listed("mine:latest", BASE), listed(BASE ?? "")]);
  await pruneImages({ store, uses: usesWith({ [OLD]: 99 }), unusedDays: 30, now: NOW });
  expect(store.removed).toEqual([OLD]);
});

test("images stay that a sandbox uses, that this project needs, that others may use, and that have other names", async () => {
  const uses = usesWith({ [OLD]: 99, [RECENT]: 99 });
  const names = [OLD, RECENT, OTHERS, "ptc-runner:latest", "mine:1", "sha256:1"];
  const store = storeWith(
    names.map((name) => listed(name)),
    [OLD],
  );
  const pruned = await pruneImages({ store, uses, unusedDays: 30, except: RECENT, now: NOW });
  expect(pruned).toEqual({
    removed: [],
    kept: [
      { reference: OLD, why: "a sandbox uses it" },
      { reference: OTHERS, why: expect.stringContaining("another user may need it") },
    ],
  });
  expect(uses.lastUse(OLD)).toBe(NOW - 99 * DAY_MS);
});

test("a use is noted again only after a while, and only for images that are named by content", () => {
  const uses = usesWith({ [RECENT]: 1, "mine:1": 1 });
  uses.note(RECENT, NOW - DAY_MS + 60_000);
  expect(uses.lastUse(RECENT)).toBe(NOW - DAY_MS);
  uses.note(RECENT, NOW);
  expect([uses.lastUse(RECENT), uses.lastUse("mine:1")]).toEqual([NOW, undefined]);
});

test("a use that cannot be noted stops no run", () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  expect(() => new ImageUses(join(file, "images")).note(RECENT)).not.toThrow();
});
