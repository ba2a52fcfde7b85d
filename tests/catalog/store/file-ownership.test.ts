import { spawnSync } from "node:child_process";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCatalog } from "../../../catalog/store/catalog-file.ts";
import { readOwnFile } from "../../../catalog/store/own-file.ts";
import { renderLockfile } from "../../../catalog/store/stored-catalog.ts";
import { writeGenerated } from "../../../catalog/store/write-generated.ts";
import { type GenerationPlan, planGeneration } from "../../../generation/generate-plan.ts";
import { listingOf } from "../../codegen/list-tools.ts";

const ONE = "servers/one/index.ts";
const TWO = "servers/two/index.ts";
const MINE = "// mine\n";

let base: string;
let dir: string;
let both: GenerationPlan;
let one: GenerationPlan;
beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), "ptc-owned-"));
  dir = join(base, "out");
  const [first, second] = [listingOf([{ name: "a" }], "one"), listingOf([{ name: "b" }], "two")];
  both = await planGeneration({ listings: [first, second] });
  one = await planGeneration({ listings: [first] });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(path: string, text = MINE): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}
const text = (path: string) => readFileSync(join(dir, path), "utf8");

/** Every path below the folder, with what it holds or is. */
function snapshot(): Map<string, string> {
  const paths = readdirSync(base, { recursive: true }).map(String).sort();
  return new Map(
    paths.map((path) => {
      const status = lstatSync(join(base, path));
      return [path, status.isFile() ? readFileSync(join(base, path), "utf8") : String(status.mode)];
    }),
  );
}

async function refusesToWrite(plan: GenerationPlan, message: RegExp): Promise<void> {
  const before = snapshot();
  const error = await writeGenerated(dir, plan.files).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ name: "CatalogError", code: "unsafe-path" });
  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).not.toContain("\n");
  expect(snapshot()).toEqual(before);
}

/** The lock as the version before wrote it: without digests of files, and of modules with warnings. */
function asBefore(plan: GenerationPlan): void {
  const { files: _files, ...lock } = plan.lock;
  const servers = new Map(
    [...lock.servers].map(([name, { moduleSha256: _digest, ...server }]) => [name, server]),
  );
  put("ptc.lock.json", renderLockfile({ ...lock, servers }));
}

describe("a folder of somebody else's", () => {
  test.each([ONE, "servers/mine/index.ts", "runtime.d.ts", "catalog.json", "notes.md"])(
    "with %s in it is not written to",
    async (path) => {
      put(path);
      await refusesToWrite(both, /out contains files but no ptc\.lock\.json of ptc,.* --out$/);
    },
  );

  test("whose lock is no lock is not written to", async () => {
    put("ptc.lock.json", "{}");
    put(ONE);
    await refusesToWrite(both, /no ptc\.lock\.json of ptc,/);
  });

  test("that is empty but for hidden files is taken", async () => {
    put(".gitkeep");
    expect((await writeGenerated(dir, both.files)).written).toHaveLength(both.files.size);
    expect(text(".gitkeep")).toBe(MINE);
  });

  test("that has lost its lock, but holds what ptc generated, is ptc's", async () => {
    await writeGenerated(dir, both.files);
    rmSync(join(dir, "ptc.lock.json"));
    put("notes.md");
    expect(await writeGenerated(dir, both.files)).toMatchObject({ written: ["ptc.lock.json"], removed: [] });
    expect((await readCatalog(dir))?.catalog).toEqual(both.catalog);
  });
});

describe("a file of somebody else's in ptc's folder", () => {
  test("is neither replaced nor removed, where it stands where a module would", async () => {
    await writeGenerated(dir, one.files);
    put("servers/mine/index.ts");
    expect(await writeGenerated(dir, one.files)).toMatchObject({ written: [], removed: [], left: [] });
    await writeGenerated(dir, (await planGeneration({ listings: [] })).files);
    expect(text("servers/mine/index.ts")).toBe(MINE);
  });

  test("in the place of a new module is told, and nothing is written", async () => {
    await writeGenerated(dir, one.files);
    put(TWO);
    await refusesToWrite(both, /servers\/two\/index\.ts is not a file that ptc wrote/);
  });

  test("that was generated, and edited since, is replaced, and told", async () => {
    await writeGenerated(dir, both.files);
    put(ONE);
    put("runtime.d.ts", `${text("runtime.d.ts")}// edited\n`);
    const outcome = await writeGenerated(dir, both.files);
    expect(outcome.edited.sort()).toEqual(["runtime.d.ts", ONE]);
    expect(text(ONE)).toBe(both.files.get(ONE));
  });

  test("that was generated, and edited since, is not removed with its server, and told", async () => {
    await writeGenerated(dir, both.files);
    put(TWO, `${text(TWO)}// edited\n`);
    expect(await writeGenerated(dir, one.files)).toMatchObject({ removed: [], left: [TWO] });
    expect(text(TWO)).toContain("// edited");
  });
});

describe("a folder of the version before", () => {
  test("is taken over without a word", async () => {
    await writeGenerated(dir, both.files);
    asBefore(both);
    expect(await writeGenerated(dir, one.files)).toEqual({
      written: ["globals.d.ts", "catalog.json", "ptc.lock.json"],
      removed: [TWO],
      edited: [],
      left: [],
    });
  });

  test("keeps a module that is not generated, though the lock names it", async () => {
    await writeGenerated(dir, both.files);
    asBefore(both);
    put(TWO);
    expect(await writeGenerated(dir, one.files)).toMatchObject({ removed: [], left: [TWO] });
    expect(text(TWO)).toBe(MINE);
  });
});

describe("links and what is no file", () => {
  test.each(["servers", "servers/one", ONE, "catalog.json", "ptc.lock.json", "runtime.d.ts"])(
    "are not written through: %s",
    async (path) => {
      await writeGenerated(dir, one.files);
      renameSync(join(dir, path), join(base, "elsewhere"));
      symlinkSync(join(base, "elsewhere"), join(dir, path));
      await refusesToWrite(both, /(?:is a link or not a regular file|is not a folder)/);
    },
  );

  test("the folder itself is not written through when it is a link", async () => {
    mkdirSync(join(base, "elsewhere"));
    symlinkSync(join(base, "elsewhere"), dir);
    await refusesToWrite(both, /out is a link/);
  });

  test("a decided write is not carried out through a link", async () => {
    await writeGenerated(dir, one.files);
    cpSync(dir, join(base, "elsewhere"), { recursive: true });
    mkdirSync(join(base, "elsewhere/.ptc-commit"));
    const journal = { write: [], remove: [ONE] };
    writeFileSync(join(base, "elsewhere/.ptc-commit/journal.json"), JSON.stringify(journal));
    rmSync(dir, { recursive: true });
    symlinkSync(join(base, "elsewhere"), dir);
    await expect(readCatalog(dir)).rejects.toMatchObject({ code: "unsafe-path" });
    expect(readFileSync(join(base, "elsewhere", ONE), "utf8")).toBe(one.files.get(ONE));
  });

  test("staged files and their folder that are links are not moved", async () => {
    await writeGenerated(dir, one.files);
    const secret = join(base, "secret");
    writeFileSync(secret, MINE);
    mkdirSync(join(dir, ".ptc-commit"));
    symlinkSync(secret, join(dir, ".ptc-commit/0"));
    const journal = { write: [{ staged: "0", path: ONE }], remove: [] };
    writeFileSync(join(dir, ".ptc-commit/journal.json"), JSON.stringify(journal));
    await expect(readCatalog(dir)).rejects.toMatchObject({ code: "unsafe-path" });
    expect(lstatSync(join(dir, ONE)).isFile()).toBe(true);
    rmSync(join(dir, ".ptc-commit"), { recursive: true });
    symlinkSync(base, join(dir, ".ptc-commit"));
    await expect(readCatalog(dir)).rejects.toMatchObject({ code: "unsafe-path" });
  });

  test("are not read", async () => {
    await writeGenerated(dir, one.files);
    const secret = join(base, "secret");
    writeFileSync(secret, MINE);
    rmSync(join(dir, ONE));
    symlinkSync(secret, join(dir, ONE));
    await expect(readOwnFile(dir, ONE)).rejects.toMatchObject({ code: "unsafe-path" });
    rmSync(join(dir, ONE));
    expect(spawnSync("mkfifo", [join(dir, ONE)]).status).toBe(0);
    await expect(readOwnFile(dir, ONE)).rejects.toMatchObject({ code: "unsafe-path" });
    await expect(readOwnFile(dir, "servers")).rejects.toMatchObject({ code: "unsafe-path" });
    expect(await readOwnFile(dir, "servers/two/index.ts")).toBeUndefined();
  });
});
