import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { describeDebianBase } from "../../../sandbox/image/debian-base.ts";
import { digestContent, neededImage, readRunnerFiles } from "../../../sandbox/image/needed-image.ts";
import { buildRunnerImage, type RunnerImageRequest } from "../../../sandbox/image/runner-image.ts";
import type {
  ImageContents,
  ImageRequest,
  ImageStore,
  StoredImage,
} from "../../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";

const directory = mkdtempSync(join(tmpdir(), "ptc-runner-image-"));
const filesPath = join(directory, "files");
const runnerPath = join(filesPath, "runner.mjs");
const guardPath = join(filesPath, "guard.pl");
const pythonPath = join(filesPath, "python");
const dockerfilePath = join(directory, "Dockerfile.runner");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

beforeEach(() => {
  mkdirSync(join(pythonPath, "inner"), { recursive: true });
  writeFileSync(join(pythonPath, "inner/main.py"), "the other runner");
  writeFileSync(runnerPath, "the runner");
  writeFileSync(guardPath, "the guard");
  writeFileSync(dockerfilePath, "FROM base");
});

/** A store in memory that writes down what is asked of it. */
class FakeStore implements ImageStore {
  readonly images = new Map<string, StoredImage>();
  readonly asked: string[] = [];
  files = new Map<string, string>();

  inspect = async (reference: string) => this.images.get(reference);

  async pull(reference: string): Promise<StoredImage> {
    this.asked.push(`pull ${reference}`);
    throw new SandboxError("base_unavailable", "no registry");
  }

  async build({ reference, base, files, contents }: ImageRequest): Promise<StoredImage> {
    this.asked.push(`build ${reference} on ${base}`);
    this.files = new Map([...files].map(([path, bytes]) => [path, String(bytes)]));
    return this.#add(reference, contents);
  }

  async importRootfs({ tar, reference }: Parameters<ImageStore["importRootfs"]>[0]): Promise<StoredImage> {
    this.asked.push(`import ${reference}`);
    tar.resume();
    return this.#add(reference);
  }

  async tag(digest: string, reference: string): Promise<void> {
    for (const image of [...this.images.values()])
      if (image.digest === digest) this.images.set(reference, image);
  }

  listOwn = async () => [];
  remove = async () => {};

  #add(reference: string, contents: ImageContents = {}): StoredImage {
    const image = { digest: `sha256:${this.images.size}`, ...contents };
    this.images.set(reference, image);
    return image;
  }
}

function storeWith(...references: string[]): FakeStore {
  const store = new FakeStore();
  for (const reference of references) store.images.set(reference, { digest: `sha256:${reference}` });
  return store;
}

async function build(
  store: ImageStore,
  {
    pythonPackages = [],
    name = "mine",
    ...more
  }: Partial<Pick<RunnerImageRequest, "base" | "runners">> & {
    pythonPackages?: string[];
    name?: string;
  } = {},
) {
  const lines: string[] = [];
  const files = readRunnerFiles(filesPath, dockerfilePath) ?? new Map();
  const onProgress = (line: string) => void lines.push(line);
  const runners = more.runners ?? [];
  const needed = neededImage({ image: name, pythonPackages, runners, files });
  const image = await buildRunnerImage({ store, needed, files, onProgress, ...more });
  return { image, lines, reference: needed.reference };
}

test("the build is given the Dockerfile, the runner and its guard", async () => {
  const store = storeWith("node:24-slim");
  expect((await build(store)).image.built).toBe(true);
  expect(store.asked).toEqual(["build mine on node:24-slim"]);
  expect(Object.fromEntries(store.files)).toEqual({
    Dockerfile: "FROM base",
    "runner.mjs": "the runner",
    "guard.pl": "the guard",
    "python/inner/main.py": "the other runner",
  });
});

test("an image that is up to date is not built again, and says so", async () => {
  const store = storeWith("node:24-slim");
  const first = await build(store);
  const second = await build(store);
  expect(second.image).toEqual({ ...first.image, built: false });
  expect(second.lines).toEqual(["The image mine is up to date."]);
  expect(store.asked).toHaveLength(1);
});

test.each([
  ["the runner", () => writeFileSync(runnerPath, "another runner")],
  ["the guard", () => writeFileSync(guardPath, "another guard")],
  ["the Python runner", () => writeFileSync(join(pythonPath, "inner/main.py"), "another")],
  ["the Dockerfile", () => writeFileSync(dockerfilePath, "FROM another")],
  ["the base", (store: FakeStore) => store.images.set("node:24-slim", { digest: "sha256:new" })],
])("another content of %s is built", async (_name, change) => {
  const store = storeWith("node:24-slim");
  await build(store);
  change(store);
  expect((await build(store)).image.built).toBe(true);
});

test.each<[string, string[], Parameters<typeof build>[1]]>([
  ["that was made here before is used without asking a registry", [], {}],
  ["can be asked for, even where the public one is present", ["node:24-slim"], { base: "debian-packages" }],
  [
    "is for programs in Python, as the public one has none",
    ["node:24-slim"],
    { runners: ["javascript", "python"] },
  ],
])("a base of this machine's packages %s", async (_, others, more) => {
  const local = await describeDebianBase();
  const store = storeWith(local, ...others);
  await build(store, more);
  expect(store.asked).toEqual([`build mine on ${local}`]);
});

test("the usual image is built under the name of its content, and its short name is that of the last build", async () => {
  const store = storeWith("node:24-slim", await describeDebianBase());
  const one = await build(store, { name: "ptc-runner" });
  const other = await build(store, { name: "ptc-runner", runners: ["python"] });
  expect(store.asked.map((asked) => asked.split(" ")[1])).toEqual([one.reference, other.reference]);
  expect(one.reference).not.toBe(other.reference);
  expect(store.images.get("ptc-runner")).toBe(store.images.get(other.reference));
  expect((await build(store, { name: "ptc-runner" })).image.built).toBe(false);
  expect(store.images.get("ptc-runner")).toBe(store.images.get(one.reference));
});

test("an image that has Python gets the name for projects without it too, but not that of an image on another base", async () => {
  const local = storeWith(await describeDebianBase());
  const { reference } = await build(local, { name: "ptc-runner" });
  const python = await build(local, { name: "ptc-runner", runners: ["python"] });
  expect(python.image.built).toBe(false);
  expect(local.images.get(python.reference)).toBe(local.images.get(reference));
  const registry = storeWith("node:24-slim", await describeDebianBase());
  await build(registry, { name: "ptc-runner" });
  await build(registry, { name: "ptc-runner", runners: ["python"] });
  expect(registry.images.get(reference)?.base).toBe("node:24-slim");
});

test("an image says what is in it, and a build on another base says that other projects share the name", async () => {
  const store = storeWith("mine:1", "node:24-slim");
  await build(store, { name: "ptc-runner", base: "mine:1" });
  const { lines, image, reference } = await build(store, { name: "ptc-runner" });
  expect(image).toMatchObject({ base: "node:24-slim", pythonPackages: [], runner: expect.any(String) });
  expect(lines).toContain(
    `${reference} was on mine:1 before, for every project that needs the same. A project with a base of its own names its image in sandbox.image.`,
  );
});

test("an image that is named by its digest is not built", async () => {
  const name = `registry.example.com/r@sha256:${"ab".repeat(32)}`;
  await expect(build(storeWith("node:24-slim"), { name })).rejects.toMatchObject({ code: "build_failed" });
});

test("a base that is named cannot be given packages", async () => {
  const why = "sandbox.python_packages cannot be added to mine:1: leave --base out";
  await expect(build(storeWith(), { base: "mine:1", pythonPackages: ["numpy"] })).rejects.toThrow(why);
});

test("a base that was asked for by name is never replaced by another", async () => {
  const store = storeWith(await describeDebianBase());
  await expect(build(store, { base: "mine:1" })).rejects.toMatchObject({ code: "base_unavailable" });
  expect(store.asked).toEqual(["pull mine:1"]);
});

test("a base of this machine's packages is taken where no registry can be reached", async () => {
  const local = await describeDebianBase();
  const store = storeWith();
  store.pull = async () => {
    // Another process has made it meanwhile.
    store.images.set(local, { digest: "sha256:local" });
    throw new SandboxError("base_unavailable", "no registry");
  };
  const { lines } = await build(store);
  expect(store.asked).toEqual([`build mine on ${local}`]);
  expect(lines).toEqual([
    "Fetching node:24-slim ...",
    "No registry can be reached.",
    `Building the image mine on ${local} ...`,
    "The image mine is ready.",
  ]);
});

test.each([new SandboxError("engine_unreachable", "the engine is gone"), new Error("a defect")])(
  "a base is not replaced by another for any other reason: %s",
  async (failure) => {
    const store = storeWith();
    store.pull = () => Promise.reject(failure);
    await expect(build(store)).rejects.toBe(failure);
    expect(store.asked).toEqual([]);
  },
);

test("what one part of the content loses to another changes its digest", () => {
  const digest = (files: Record<string, string>, base = "d") =>
    digestContent(new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])), base);
  expect(digest({ a: "ab", b: "c" })).toMatch(/^sha256:[0-9a-f]{64}$/);
  const others = [digest({ a: "a", b: "bc" }), digest({ a: "ab", b: "cd" }, ""), digest({ a: "ab", c: "c" })];
  expect(
    new Set([digest({ a: "ab", b: "c" }), ...others, digest({ a: "ab", b: "c", "": "d" }, "")]).size,
  ).toBe(5);
  expect(digest({ a: "ab", b: "c" })).toBe(digest({ b: "c", a: "ab" }));
});
