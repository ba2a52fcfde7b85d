import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCatalog } from "../../../catalog/store/catalog-file.ts";
import { writeGenerated } from "../../../catalog/store/write-generated.ts";
import { planGeneration } from "../../../generation/generate-plan.ts";
import { listingOf } from "../../codegen/list-tools.ts";
import { seededRandom } from "../../codegen/sample-values.ts";
import { tries } from "../../tries.ts";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "ptc-interrupted-"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Two trees that share some modules, and differ in what others hold and in which there are. */
async function twoTrees(): Promise<[Map<string, string>, Map<string, string>]> {
  const tool = (description: string) => ({ name: "t", description });
  const many = (from: number, to: number, description: string) =>
    Array.from({ length: to - from }, (_, i) => listingOf([tool(description)], `server${from + i}`));
  const one = await planGeneration({ listings: many(0, 20, "One.") });
  const other = await planGeneration({ listings: [...many(0, 5, "One."), ...many(10, 30, "Other.")] });
  return [one.files, other.files];
}

function readTree(dir: string): Map<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .filter((path) => !path.startsWith(".ptc-staging-"));
  return new Map(paths.sort().map((path) => [path, readFileSync(join(dir, path), "utf8")]));
}

const MIN_ROUNDS = tries(4);
const MAX_ROUNDS = 150;

const sorted = (files: ReadonlyMap<string, string>) => [...files].sort(([a], [b]) => (a < b ? -1 : 1));

describe("a write that is interrupted", () => {
  test("leaves the old tree or the new one, whenever its process is killed", {
    timeout: 180_000,
  }, async () => {
    const trees = await twoTrees();
    const [one, other] = trees.map((tree) => JSON.stringify(sorted(tree)));
    const treesFile = join(base, "trees.json");
    writeFileSync(treesFile, JSON.stringify(trees.map((tree) => [...tree])));
    const random = seededRandom(Number(process.env.PTC_SEED ?? Date.now()));
    const dir = join(base, "out");
    await writeGenerated(dir, trees[0]);
    let interrupted = 0;
    // On a busy machine a kill may come between two writes each time, so rounds go on until one came within a write.
    for (let round = 0; round < MIN_ROUNDS || (interrupted === 0 && round < MAX_ROUNDS); round++) {
      const writer = spawn(
        process.execPath,
        [join(import.meta.dirname, "fixtures/write-alternately.ts"), dir, treesFile],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      const exited = once(writer, "exit");
      await once(writer.stdout, "data");
      await sleep(random() * 60);
      writer.kill("SIGKILL");
      await exited;
      if (readdirSync(dir).some((name) => name.startsWith(".ptc-"))) interrupted++;
      expect(await readCatalog(dir)).toBeDefined();
      expect([one, other]).toContain(JSON.stringify([...readTree(dir)]));
    }
    expect(interrupted).toBeGreaterThan(0);
  });

  test("leaves the old tree when the disk is full", async (context) => {
    const disk = mountSmallDisk();
    if (disk === undefined) return context.skip("no small disk can be mounted here");
    try {
      const dir = join(disk, "out");
      const [one] = await twoTrees();
      await writeGenerated(dir, one);
      const big = await planGeneration({
        listings: [listingOf([{ name: "t", description: "word ".repeat(400_000) }], "big")],
      });
      await expect(writeGenerated(dir, big.files)).rejects.toMatchObject({
        code: "write-failed",
        message: expect.stringMatching(/ENOSPC.*nothing was changed/),
      });
      expect([...readTree(dir)]).toEqual(sorted(one));
      expect(readdirSync(dir).filter((name) => name.startsWith(".ptc-"))).toEqual([]);
    } finally {
      spawnSync("umount", [disk]);
      rmSync(disk, { recursive: true, force: true });
    }
  });
});

/** A disk of 1 MB, where one may be mounted. */
function mountSmallDisk(): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), "ptc-small-disk-"));
  mkdirSync(disk, { recursive: true });
  const options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk];
  if (process.getuid?.() === 0 && spawnSync("mount", options).status === 0) return disk;
  rmSync(disk, { recursive: true, force: true });
  return undefined;
}
