import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { extendToPages, RunscImages } from "../../../sandbox/runsc/runsc-image-store.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import { newFolder } from "../../temporary-folder.ts";

afterEach(() => vi.unstubAllEnvs());

const BASE = "ptc-base:test";
const RUNNER = "ptc-runner";

/** A folder with these files. */
function folderWith(files: Record<string, string>): string {
  const folder = newFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function tarOf(folder: string): string {
  const path = join(newFolder(), "it.tar");
  execFileSync("tar", ["--create", `--file=${path}`, `--directory=${folder}`, "."]);
  return path;
}

/** A store, and what it had run inside of roots. @param path of the programs that it finds; none by default, not even `mkfs.erofs`. */
function storeIn(folder = newFolder(), shared?: string) {
  const ran: string[][] = [];
  const store = new RunscImages({
    folder,
    shared,
    async runInside(root, command) {
      ran.push([...command]);
      writeFileSync(join(root, "compiled"), "yes");
    },
  });
  return { store, folder, ran };
}

const TREE = {
  "usr/bin/python3": "python",
  "usr/lib/python3.11/a.py": "",
  "etc/hosts": "of the base\n",
  "etc/resolv.conf": "nameserver 1.1.1.1\n",
};

async function withBase(more: Record<string, string> = {}) {
  const made = storeIn();
  const tar = createReadStream(tarOf(folderWith({ ...TREE, ...more })));
  const base = await made.store.importRootfs({ tar, reference: BASE });
  return { ...made, base };
}

const files = (runner = "the runner") =>
  new Map<string, Uint8Array>([
    ["Dockerfile", Buffer.from("FROM base")],
    ["runner.mjs", Buffer.from(runner)],
    ["python/main.py", Buffer.from("the other runner")],
  ]);
const CONTENT = `sha256:${"c".repeat(64)}`;

function build(store: RunscImages, content = CONTENT, base = BASE, reference = RUNNER) {
  return store.build({ reference, base, files: files(), contents: { content }, onProgress() {} });
}

/** Without `mkfs.erofs`, roots stay folders that can be looked into. */
function withoutErofs() {
  const bin = newFolder();
  for (const name of ["tar", "cp"])
    writeFileSync(join(bin, name), `#!/bin/sh\nexec /bin/${name} "$@"\n`, { mode: 0o755 });
  vi.stubEnv("PATH", bin);
  return bin;
}

test("an image has the files of its base, the runners, and what an engine would give a container", async () => {
  withoutErofs();
  const { store, ran } = await withBase();
  const image = await build(store);
  expect(await store.inspect(RUNNER)).toEqual({ digest: image.digest, content: CONTENT });
  const root = await store.findRoot(image.digest);
  expect(root?.kind).toBe("folder");
  const read = (name: string) => readFileSync(join(root?.path ?? "", name), "utf8");
  expect(read("opt/ptc/runner.mjs")).toBe("the runner");
  expect(read("opt/ptc/python/main.py")).toBe("the other runner");
  expect(existsSync(join(root?.path ?? "", "opt/ptc/Dockerfile"))).toBe(false);
  expect(read("etc/resolv.conf")).toBe("");
  expect(read("etc/hosts")).toMatch(/^127\.0\.0\.1\tlocalhost\n/);
  expect(read("compiled")).toBe("yes");
  expect(readlinkSync(join(root?.path ?? "", "etc/mtab"))).toBe("/proc/mounts");
  expect(statSync(join(root?.path ?? "", "tmp")).mode & 0o7777).toBe(0o1777);
  expect(ran).toEqual([
    [
      ...["/usr/bin/python3", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash"],
      ...["/usr/lib/python3.11", "/opt/ptc/python"],
    ],
  ]);
});

test("building on a base leaves the base as it was", async () => {
  withoutErofs();
  const { store, base } = await withBase();
  await build(store);
  const root = await store.findRoot(base.digest);
  expect(readFileSync(join(root?.path ?? "", "etc/hosts"), "utf8")).toBe("of the base\n");
  expect(existsSync(join(root?.path ?? "", "opt/ptc"))).toBe(false);
  expect((await store.inspect(BASE))?.digest).toBe(base.digest);
});

test("the same tree is the same base, and another is another", async () => {
  const one = await withBase();
  expect((await withBase()).base.digest).toBe(one.base.digest);
  expect((await withBase({ "etc/more": "x" })).base.digest).not.toBe(one.base.digest);
});

test("an image that was edited is not there any more, and is built again", async () => {
  const { store } = await withBase();
  const image = await build(store);
  const root = await store.findRoot(image.digest);
  if (root?.kind === "erofs") appendFileSync(root.path, "x");
  else writeFileSync(join(root?.path ?? "", "edited"), "x");
  expect(await store.inspect(RUNNER)).toBeUndefined();
  expect(await store.findRoot(image.digest)).toBeUndefined();
  const again = await build(store);
  expect((await store.inspect(RUNNER))?.digest).toBe(again.digest);
});

test("the image that had the name before is removed, and its base stays", async () => {
  withoutErofs();
  const { store, folder } = await withBase();
  await build(store);
  await build(store, `sha256:${"d".repeat(64)}`);
  expect(readdirSync(folder).filter((name) => /^[0-9a-f]{64}$/.test(name))).toHaveLength(2);
  expect((await store.listOwn()).map(({ reference }) => reference).sort()).toEqual([BASE, RUNNER]);
  for (const { bytes } of await store.listOwn()) expect(bytes).toBeGreaterThan(0);
});

test("an image says what is in it, and images of projects with other needs stay side by side", async () => {
  const { store } = await withBase();
  const [one, other] = [`${RUNNER}:${"1".repeat(12)}`, `${RUNNER}:${"2".repeat(12)}`];
  const contents = { content: CONTENT, runner: "sha256:3", base: BASE, pythonPackages: ["python3-numpy"] };
  const request = { base: BASE, files: files(), onProgress() {} };
  const built = await store.build({ ...request, reference: one, contents });
  expect(built).toEqual({ digest: built.digest, ...contents });
  expect(await store.inspect(one)).toEqual(built);
  await store.build({
    ...{ ...request, reference: other, files: files("another runner") },
    contents: { content: `sha256:${"d".repeat(64)}` },
  });
  expect(await store.inspect(one)).toEqual(built);
  expect((await store.listOwn()).map(({ reference, base }) => [reference, base])).toEqual(
    expect.arrayContaining([[one, BASE]]),
  );
});

test("an image with the same content is given another name and not made again, and stays until it has none", async () => {
  withoutErofs();
  const { store, ran } = await withBase();
  const first = await build(store, CONTENT, BASE, "ptc-runner:1");
  expect(await build(store, CONTENT, BASE, "ptc-runner:2")).toEqual(first);
  await store.tag(first.digest, RUNNER);
  expect(ran).toHaveLength(1);
  await store.remove("ptc-runner:1");
  expect(await store.inspect("ptc-runner:1")).toBeUndefined();
  expect(await store.findRoot(first.digest)).toBeDefined();
  const second = await build(store, `sha256:${"d".repeat(64)}`, BASE, "ptc-runner:3");
  await store.tag(second.digest, RUNNER);
  expect(await store.inspect("ptc-runner:2")).toEqual(first);
  await store.remove("ptc-runner:2");
  expect(await store.findRoot(first.digest)).toBeUndefined();
});

test("a removed image is gone by its name and its digest, and removing it again does nothing", async () => {
  withoutErofs();
  const { store, folder } = await withBase();
  const { digest } = await build(store);
  await store.remove(RUNNER);
  await store.remove(RUNNER);
  await store.remove(BASE);
  expect([await store.inspect(RUNNER), await store.inspect(digest), await store.listOwn()]).toEqual([
    undefined,
    undefined,
    [],
  ]);
  expect(readdirSync(folder)).toEqual(["names"]);
});

test("another user's images are found and not written to", async () => {
  withoutErofs();
  const { folder: shared, store: theirs } = await withBase();
  const image = await build(theirs);
  const { store } = storeIn(newFolder(), shared);
  expect(await store.inspect(RUNNER)).toEqual({ digest: image.digest, content: CONTENT });
  expect((await store.findRoot(image.digest))?.path).toContain(shared);
  expect(await store.listOwn()).toEqual([]);
  await store.remove(RUNNER);
  expect(await theirs.inspect(RUNNER)).toBeDefined();
});

test("an image that cannot be built leaves nothing, and says why", async () => {
  withoutErofs();
  const { store, folder } = await withBase();
  await expect(build(store, CONTENT, "ptc-base:gone")).rejects.toThrow(
    "ptc-runner could not be built: there is no base ptc-base:gone",
  );
  const broken = new RunscImages({
    folder,
    async runInside() {
      throw new Error("no sandbox");
    },
  });
  await expect(build(broken)).rejects.toThrow(
    new SandboxError("build_failed", "ptc-runner could not be built: no sandbox"),
  );
  expect(readdirSync(folder).sort()).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), "names"]);
});

test("without a program that reads registries no image is fetched, and it is said what to install", async () => {
  withoutErofs();
  const { store } = storeIn();
  await expect(store.pull("node:24-slim", () => {})).rejects.toThrow(
    "node:24-slim could not be fetched: none of crane, podman, skopeo is installed",
  );
});

/** Puts a stand-in for a program that talks to a registry on the path. */
function standIn(name: string, script: string): void {
  const path = join(withoutErofs(), name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

test("crane's export of an image becomes a base", async () => {
  const tar = tarOf(folderWith({ "usr/local/bin/node": "node" }));
  standIn("crane", `[ "$1 $2 $3" = "export node:24-slim -" ] && /bin/cat ${tar}`);
  const { store } = storeIn();
  const { digest } = await store.pull("node:24-slim", () => {});
  expect((await store.inspect("node:24-slim"))?.digest).toBe(digest);
  const root = await store.findRoot(digest);
  expect(readFileSync(join(root?.path ?? "", "usr/local/bin/node"), "utf8")).toBe("node");
});

test.each([
  ["becomes a base", true],
  ["that fails leaves no container either", false],
])("podman's export of an image %s", async (_, isGood) => {
  const tar = tarOf(folderWith({ "usr/local/bin/node": "node" }));
  const log = join(newFolder(), "log");
  writeFileSync(log, "");
  const exported = isGood ? `/bin/cat ${tar}` : "exit 1";
  standIn("podman", `echo "$*" >>${log}; case "$1" in export) ${exported};; esac`);
  const { store } = storeIn();
  const pulled = store.pull("node:24-slim", () => {});
  if (isGood) {
    const root = await store.findRoot((await pulled).digest);
    expect(readFileSync(join(root?.path ?? "", "usr/local/bin/node"), "utf8")).toBe("node");
  } else await expect(pulled).rejects.toThrow("node:24-slim could not be fetched");
  const lines = readFileSync(log, "utf8").trim().split("\n");
  const name = /--name=(\S+)/.exec(lines[1] ?? "")?.[1];
  expect(lines).toEqual([
    "pull --quiet node:24-slim",
    `create --quiet --name=${name} node:24-slim true`,
    `export ${name}`,
    `rm ${name}`,
  ]);
});

test("layers that skopeo fetched lie over each other, and hide what they say is gone", async () => {
  const layers = [
    { "a/kept": "1", "a/gone": "1", "b/old": "1", "c/replaced": "1" },
    { "a/.wh.gone": "", "b/.wh..wh..opq": "", "b/new": "2", "c/replaced": "2" },
  ].map((tree) => tarOf(folderWith(tree)));
  const digests = ["1", "2"].map((digit) => `sha256:${digit.repeat(64)}`);
  const manifest = join(newFolder(), "manifest.json");
  writeFileSync(
    manifest,
    JSON.stringify({ schemaVersion: 2, layers: digests.map((digest) => ({ digest })) }),
  );
  const copies = digests
    .map((digest, index) => `/bin/cp ${layers[index]} "$to/${digest.slice(7)}"`)
    .join("; ");
  standIn("skopeo", `to=\${3#dir:}; ${copies}; /bin/cp ${manifest} "$to/manifest.json"`);
  const { store } = storeIn();
  const { digest } = await store.pull("node:24-slim", () => {});
  const path = (await store.findRoot(digest))?.path ?? "";
  const names = readdirSync(path, { recursive: true }).map(String).sort();
  expect(names).toEqual(["a", "a/kept", "b", "b/new", "c", "c/replaced"]);
  expect(readFileSync(join(path, "c/replaced"), "utf8")).toBe("2");
});

test("a folder without images lists none", async () => {
  const { store } = storeIn();
  expect(await store.listOwn()).toEqual([]);
  const nowhere = storeIn(join(newFolder(), "not-there"));
  expect(await nowhere.store.listOwn()).toEqual([]);
});

/** The segments of a 64-bit ELF file that are loaded: where they end in memory, and whether they are writable. */
function segmentsOf(file: Buffer): { end: number; isWritable: boolean }[] {
  const at = Number(file.readBigUInt64LE(32));
  const headers = Array.from({ length: file.readUInt16LE(56) }, (_, index) => at + index * 56);
  return headers
    .filter((header) => file.readUInt32LE(header) === 1)
    .map((header) => ({
      end: Number(file.readBigUInt64LE(header + 16) + file.readBigUInt64LE(header + 32)),
      isWritable: (file.readUInt32LE(header + 4) & 2) !== 0,
    }));
}

test("a program whose segments are extended to whole pages runs as before, and its data stay as they were", () => {
  const program = readFileSync("/usr/bin/env");
  const extended = extendToPages(program) ?? Buffer.alloc(0);
  const before = segmentsOf(program);
  const after = segmentsOf(extended);
  expect(before.some(({ end, isWritable }) => !isWritable && end % 4_096 !== 0)).toBe(true);
  expect(after.filter(({ end, isWritable }) => !isWritable && end % 4_096 !== 0)).toEqual([]);
  const data = ({ isWritable }: { isWritable: boolean }) => isWritable;
  expect(after.filter(data)).toEqual(before.filter(data));
  expect(extendToPages(extended)).toBeUndefined();
  const path = join(newFolder(), "env");
  writeFileSync(path, extended, { mode: 0o755 });
  expect(execFileSync(path, ["--ignore-environment", "A=1", path], { encoding: "utf8" })).toBe("A=1\n");
});

test("the programs of an image are extended to whole pages in a file system of one file, and stay programs", async () => {
  const bin = withoutErofs();
  const archive = 'while [ $# -gt 2 ]; do shift; done; exec /bin/tar --create --file="$1" --directory="$2" .';
  writeFileSync(join(bin, "mkfs.erofs"), `#!/bin/sh\n${archive}\n`, { mode: 0o755 });
  const env = readFileSync("/usr/bin/env");
  const folder = folderWith(TREE);
  for (const [name, mode] of [
    ["usr/bin/env", 0o755],
    ["usr/lib/env.so", 0o644],
  ] as const)
    writeFileSync(join(folder, name), env, { mode });
  const { store } = storeIn();
  await store.importRootfs({ tar: createReadStream(tarOf(folder)), reference: BASE });
  const packed = await store.findRoot((await build(store)).digest);
  expect(packed?.kind).toBe("erofs");
  const root = newFolder();
  execFileSync("tar", ["--extract", `--file=${packed?.path}`, `--directory=${root}`]);
  expect(readFileSync(join(root, "usr/bin/env")).equals(extendToPages(env) ?? env)).toBe(true);
  expect(statSync(join(root, "usr/bin/env")).mode & 0o777).toBe(0o755);
  // What is not executed is as it was.
  expect(readFileSync(join(root, "usr/lib/env.so")).equals(env)).toBe(true);
});

test("a segment is not extended over the next one, nor a writable one, and the file is as long as its last segment", () => {
  const file = Buffer.alloc(5_000);
  Buffer.from("\x7fELF\x02\x01", "latin1").copy(file);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(3, 56);
  const segments = [
    [0, 0x1000, 0x100],
    [0x1100, 0x1100, 5_000 - 0x1100],
    [0, 0x3000, 0x10, 2],
  ];
  segments.forEach(([offset = 0, address = 0, bytes = 0, flags = 0], index) => {
    file.writeUInt32LE(1, 64 + index * 56);
    file.writeUInt32LE(flags, 64 + index * 56 + 4);
    for (const [field, value] of [offset, address, address, bytes, bytes].entries())
      file.writeBigUInt64LE(BigInt(value), 64 + index * 56 + 8 + field * 8);
  });
  const extended = extendToPages(file) ?? Buffer.alloc(0);
  expect(segmentsOf(extended).map(({ end }) => end)).toEqual([0x1100, 0x2000, 0x3010]);
  expect(extended.length).toBe(0x2000);
});

test("a segment that the file does not hold is left as it is, and costs no memory", () => {
  const file = Buffer.alloc(200);
  Buffer.from("\x7fELF\x02\x01", "latin1").copy(file);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(1, 64);
  for (const [field, value] of [2n ** 40n, 0n, 0n, 100n, 100n].entries())
    file.writeBigUInt64LE(value, 72 + field * 8);
  expect(extendToPages(file)).toBeUndefined();
});

test.each([
  ["a script", Buffer.from("#!/bin/sh\n".repeat(20))],
  ["a file with the name of one", Buffer.from("\x7fELF\x02\x01", "latin1")],
  ["a damaged one", Buffer.concat([Buffer.from("\x7fELF\x02\x01", "latin1"), Buffer.alloc(90, 0xff)])],
])("%s is left alone", (_, file) => {
  expect(extendToPages(file)).toBeUndefined();
});
