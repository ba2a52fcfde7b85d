import { chmod, chown, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findConfiguration, loadConfiguration } from "../../configuration/load.ts";

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "ptc-load-"));
});

afterEach(() => rm(cwd, { recursive: true, force: true }));

async function write(...files: string[]): Promise<void> {
  await mkdir(join(cwd, "sub"), { recursive: true });
  for (const file of files)
    await writeFile(join(cwd, file), `servers: [{name: a, command: ./x}]\n# ${file}\n`);
}

describe.skipIf(process.getuid === undefined)("in a folder below the configuration", () => {
  const env = { HOME: "/nowhere" };
  const foundIn = async (folder: string, home = env.HOME) =>
    (await findConfiguration({ env: { HOME: home }, cwd: join(cwd, folder) }))?.file;

  beforeEach(async () => {
    await mkdir(join(cwd, "a/b"), { recursive: true });
    await write("ptc.yaml");
  });

  it("is the nearest ptc.yaml above, whose folder relative paths are resolved against", async () => {
    const loaded = await loadConfiguration({ env, cwd: join(cwd, "a/b") });
    expect(loaded).toMatchObject({ file: "../../ptc.yaml", directory: cwd });
    await write("a/ptc.yaml");
    expect(await foundIn("a/b")).toBe("../ptc.yaml");
    await write("a/b/config.yaml");
    expect(await foundIn("a/b")).toBe("config.yaml");
  });

  it("is no config.yaml, which other tools have too", async () => {
    await write("a/config.yaml");
    expect(await foundIn("a/b")).toBe("../../ptc.yaml");
  });

  it("is none above the root of a repository, and none above the home folder", async () => {
    expect(await foundIn("a/b", join(cwd, "a"))).toBeUndefined();
    expect(await foundIn("a/b", cwd)).toBe("../../ptc.yaml");
    await mkdir(join(cwd, "a/.git"));
    expect(await foundIn("a/b")).toBeUndefined();
    await mkdir(join(cwd, ".git"));
    await rm(join(cwd, "a/.git"), { recursive: true });
    expect(await foundIn("a/b")).toBe("../../ptc.yaml");
  });

  it("is none that everybody could have put there", async () => {
    for (const mode of [0o777, 0o1777]) {
      await chmod(cwd, mode);
      expect(await foundIn("a/b")).toBeUndefined();
      expect(await foundIn(".")).toBe("ptc.yaml");
    }
    await chmod(cwd, 0o755);
    await chmod(join(cwd, "ptc.yaml"), 0o666);
    expect(await foundIn("a/b")).toBeUndefined();
  });

  it.skipIf(process.getuid?.() !== 0)("is none of another user", async () => {
    await chown(join(cwd, "ptc.yaml"), 12_345, 12_345);
    expect(await foundIn("a/b")).toBeUndefined();
    await chown(join(cwd, "ptc.yaml"), 0, 0);
    await chown(join(cwd, "a"), 12_345, 12_345);
    expect(await foundIn("a/b")).toBeUndefined();
  });

  it("counts for a link to the folder as for the folder", async () => {
    await symlink(join(cwd, "a/b"), join(cwd, "linked"));
    const found = await findConfiguration({ env, cwd: join(cwd, "linked") });
    expect(found?.path).toBe(join(cwd, "ptc.yaml"));
  });
});

describe("the configuration file", () => {
  const PTC_CONFIG = "two.yaml";
  const PTC_MCP_CONFIG = "three.yaml";
  const all = ["one.yaml", "two.yaml", "three.yaml", "ptc.yaml", "config.yaml"];

  it.each([
    ["--config before all", { flag: "one.yaml", env: { PTC_CONFIG, PTC_MCP_CONFIG } }, "one.yaml"],
    ["PTC_CONFIG next", { env: { PTC_CONFIG, PTC_MCP_CONFIG } }, "two.yaml"],
    ["then PTC_MCP_CONFIG", { env: { PTC_MCP_CONFIG } }, "three.yaml"],
    ["an empty variable as if it were not set", { env: { PTC_CONFIG: "", PTC_MCP_CONFIG } }, "three.yaml"],
    ["then ptc.yaml", { env: {} }, "ptc.yaml"],
  ])("is found by %s", async (_, options, file) => {
    await write(...all);
    expect(await findConfiguration({ ...options, cwd })).toMatchObject({ file, path: join(cwd, file) });
  });

  it("may be called config.yaml", async () => {
    await write("config.yaml");
    expect(await findConfiguration({ env: {}, cwd })).toMatchObject({ file: "config.yaml" });
  });

  it("need not exist", async () => {
    expect(await findConfiguration({ env: {}, cwd })).toBeUndefined();
    expect(await loadConfiguration({ env: {}, cwd })).toMatchObject({
      file: undefined,
      directory: cwd,
      servers: [],
    });
  });

  it("is what relative paths are resolved against", async () => {
    await write("sub/ptc.yaml");
    const configuration = await loadConfiguration({ flag: "sub/ptc.yaml", env: {}, cwd });
    expect(configuration).toMatchObject({ file: "sub/ptc.yaml", directory: join(cwd, "sub") });
    expect(configuration.servers[0]).toMatchObject({ command: "./x", cwd: join(cwd, "sub") });
    expect(configuration.archive.path).toBe(join(cwd, "sub/.ptc/archive.db"));
  });

  it.each([
    ["--config", { flag: "gone.yaml", env: {} }],
    ["PTC_CONFIG", { env: { PTC_CONFIG: "gone.yaml" } }],
    ["PTC_MCP_CONFIG", { env: { PTC_MCP_CONFIG: "gone.yaml" } }],
  ])("that %s names must exist", async (by, options) => {
    await write("ptc.yaml");
    await expect(loadConfiguration({ ...options, cwd })).rejects.toMatchObject({
      name: "ConfigurationError",
      code: "not_found",
      message: `gone.yaml:1: the file named by ${by} does not exist; check its path`,
    });
  });

  it("cannot be a folder, too large, or other than UTF-8", async () => {
    await write("sub/x");
    await writeFile(join(cwd, "large.yaml"), Buffer.alloc(300_000, " "));
    await writeFile(join(cwd, "latin.yaml"), Buffer.from([0x61, 0x3a, 0x20, 0xe9]));
    const load = (flag: string) => loadConfiguration({ flag, env: {}, cwd });
    await expect(load("sub")).rejects.toThrow("sub:1: is a folder; name the file in it");
    await expect(load("large.yaml")).rejects.toThrow(
      "large.yaml:1: larger than 262144 bytes; is this the right file?",
    );
    await expect(load("latin.yaml")).rejects.toThrow("latin.yaml:1: is not text in UTF-8; save it as UTF-8");
    await expect(load("/dev/zero")).rejects.toThrow(
      "/dev/zero:1: larger than 262144 bytes; is this the right file?",
    );
  });
});
